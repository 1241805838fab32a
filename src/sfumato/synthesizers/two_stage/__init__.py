"""Two-stage synthesis for prediction: inputs that keep their distribution, then outputs predicted from them."""

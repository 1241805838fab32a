"""The formal two-stage form: noisy inputs, public features, and a response with known noise."""

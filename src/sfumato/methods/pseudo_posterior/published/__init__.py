"""The weighted pseudo posterior as printed: weights by risk, ranges, and the loss that is really there."""

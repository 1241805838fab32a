"""Families without a closed form, sampled by NumPyro: extra ``sfumato[bayes]``."""

"""Quality metrics published under differential privacy (spends budget)."""

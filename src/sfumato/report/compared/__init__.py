"""What the comparison's page shows of each part: words and small pictures, ready to be set."""

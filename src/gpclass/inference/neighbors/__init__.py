"""Models that predict every row from its nearest training rows."""

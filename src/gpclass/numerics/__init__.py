"""Arrays, linear algebra and special functions."""

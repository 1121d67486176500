"""Engines that work on the whole prior covariance matrix."""

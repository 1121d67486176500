"""Judging models: scores, comparisons, and the uncertainty of predictions."""

"""Synthetic data sets."""

from .synthetic import make_crescents, make_rings, make_views

__all__ = ["make_crescents", "make_rings", "make_views"]

"""Data made on the spot, for examples and tests."""

from .rings import make_rings

__all__ = ["make_rings"]

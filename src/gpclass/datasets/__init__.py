"""Data with known truth."""

from .crescents import make_crescents
from .rings import make_rings

__all__ = ["make_crescents", "make_rings"]

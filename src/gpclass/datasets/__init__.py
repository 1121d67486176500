"""Data with known truth."""

from .crescents import make_crescents
from .rings import make_rings
from .views import make_views

__all__ = ["make_crescents", "make_rings", "make_views"]

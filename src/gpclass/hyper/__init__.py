"""How kernel parameters are chosen."""

from .evidence import Evidence, Fixed, Learned
from .objective import Model

__all__ = ["Evidence", "Fixed", "Learned", "Model"]

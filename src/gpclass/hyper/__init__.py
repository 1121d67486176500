"""How kernel parameters are chosen."""

from .evidence import Evidence, Fixed, Learned
from .leave_one_out import LeaveOneOut
from .objective import Model

__all__ = ["Evidence", "Fixed", "Learned", "LeaveOneOut", "Model"]

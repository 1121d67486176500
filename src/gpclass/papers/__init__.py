"""The tables and figures of five papers, each computed again beside the published numbers.

On the command line ``gpclass reproduce --list``, ``gpclass reproduce gr06-table1 --quick`` and ``gpclass report DIR``;
in Python ``reproduce(get("gr06-table1"), "quick")``.
"""

from difflib import get_close_matches
from importlib import import_module

from .base import Experiment, Quantity, Records
from .data import MissingDataError
from .runner import Result, TaskError, reproduce

#: In the order of the papers. GR06 Girolami & Rogers 2006, LPJ05 Lawrence, Platt & Jordan 2005, CC05 Cseke & Csató
#: 2005, G06 Girolami 2006 (slides), WB98 Williams & Barber 1998.
NAMES = (
    *(f"gr06-{part}" for part in ("figure2", "figure3", "figure4", "table1", "figure5", "figure6", "table2")),
    *(f"lpj05-{part}" for part in ("figure5", "table1", "table2", "figure7", "figure8", "table3")),
    *(f"cc05-{part}" for part in ("figure1", "figure2", "figure3")),
    *(f"g06-{part}" for part in ("sinc", "wine", "neal", "fold", "digits")),
    *(f"wb98-{part}" for part in ("table1", "table2", "figure2", "table3")),
)


def get(name: str) -> Experiment:
    """The experiment of a name."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=3, cutoff=0.4)
        raise ValueError(f"expected the name of an experiment, such as {', '.join(near or NAMES[:3])}; got {name!r}")
    return Experiment.from_module(name, import_module(f".{name.replace('-', '_')}", __name__))


__all__ = ["NAMES", "Experiment", "MissingDataError", "Quantity", "Records", "Result", "TaskError", "get", "reproduce"]

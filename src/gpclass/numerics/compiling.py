"""Says so when compiling takes long: the first fit after an installation should not look as if it hung."""

import sys
import time
from threading import Timer, get_ident
from typing import Any

from numba.core import event

#: Seconds of compiling, all functions together, after which it is told of, once.
PATIENCE = 2.0


class Announcer(event.Listener):
    """Hears of every function that Numba compiles; what it finds in its cache it does not compile."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience, self.spent, self.told = patience, 0.0, False
        self._running: dict[int, tuple[Any, float, Timer]] = {}

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        ours = str(getattr(dispatcher.py_func, "__module__", "")).startswith("gpclass")
        if self.told or not ours or get_ident() in self._running:
            return
        # Told while it lasts, and not when it is over.
        timer = Timer(max(self.patience - self.spent, 0.0), self._tell)
        timer.daemon = True
        self._running[get_ident()] = (dispatcher, time.monotonic(), timer)
        timer.start()

    def on_end(self, event: Any) -> None:
        dispatcher, start, timer = self._running.get(get_ident(), (None, 0.0, None))
        if timer is not None and event.data["dispatcher"] is dispatcher:
            timer.cancel()
            self.spent += time.monotonic() - start
            del self._running[get_ident()]

    def _tell(self) -> None:
        if not self.told:
            self.told = True
            told = "gpclass: compiling, once after an installation; the next run finds it done"
            print(told, file=sys.stderr, flush=True)


def announce(patience: float = PATIENCE) -> None:
    """Begin to listen, in this process."""
    event.register("numba:compile", Announcer(patience))

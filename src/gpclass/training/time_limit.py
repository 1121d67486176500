"""A limit on the time of learning, as a callback of scikit-learn."""

import time
from collections.abc import Callable
from typing import Any

#: Tasks that learn or sample: any number of their steps leaves a model. The others compute the posterior at the kernel
#: parameters found, and stopped early they would leave a poor one.
LEARNING_TASKS = frozenset(
    ["learning steps", "models", "models compared", "rounds", "search", "starting points", "sweeps", "trajectories"]
)


class TimeLimit:
    """Stop learning after so many seconds of a fit, and use the kernel parameters found so far.

    The posterior is then computed in full, so a fit takes somewhat longer than its limit. ``hyper_.stopped``
    (``info_.stopped`` for Gibbs sampling) says whether a fit was stopped. Every ``fit`` begins a new limit. Restarts
    and chains in other processes (``n_jobs``) are not stopped.

    Parameters
    ----------
    seconds : float
    clock : function without arguments
        The time in seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gpclass import GPClassifier, TimeLimit
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GPClassifier().set_callbacks(TimeLimit(600.0)).fit(X, y)
    >>> model.hyper_.stopped
    False
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        if not seconds > 0.0:
            raise ValueError(f"expected a time limit of more than 0 seconds, got {seconds!r}")
        self.seconds = seconds
        self.clock = clock

    def setup(self, estimator: Any, context: Any) -> None:
        self._end = self.clock() + self.seconds

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Whether to stop the task that this one is a step of."""
        task = context.parent
        learns = task is not None and (task.parent is None or task.task_name in LEARNING_TASKS)
        return learns and self.clock() >= self._end

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

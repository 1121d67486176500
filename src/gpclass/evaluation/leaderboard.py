"""Scores of many models on the same folds: a model that fails, or has no time left, does not end the comparison."""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split

from ..training.monitor import SILENT, Monitor
from ..training.time_limit import TimeLimit
from .class_scores import classification_scores
from .metrics import label_positions

#: In the order in which a leaderboard lists models.
STATES = ("finished", "stopped", "failed", "not started")


class Ranked(NamedTuple):
    """Scores of one model: means over its folds, standard errors between them (none for a single fold), the mean time
    of a fit, what went wrong, and the scores of every class, where there are some, over the rows of all folds."""

    name: str
    state: str
    folds: int
    scores: dict[str, float]
    errors: dict[str, float]
    seconds: float
    message: str = ""
    by_class: Sequence[Mapping[str, Any]] = ()


class Leaderboard(NamedTuple):
    """Models, best first; ``interrupted`` where Ctrl-C ended the comparison."""

    scores: tuple[Ranked, ...]
    metrics: tuple[str, ...]
    folds: int
    interrupted: bool = False


class TargetKind(Protocol):
    """What models predict and how that is scored."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the scores, in the order of a table."""

    @property
    def sorted_by(self) -> str:
        """The score that models are sorted by, smaller is better."""

    def refusal(self, model: Any) -> str:
        """Why a model cannot be scored, empty if it can."""

    def predict(self, model: Any, X: Any) -> np.ndarray:
        """Predictions (m, ...) of a fitted model."""

    def scores(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """Scores of one fold."""

    def pooled(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
        """Scores that need the predictions of all folds, ``by_class`` among them."""


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Probabilities (m, K) of classes, which are in an order where ``ordered``."""

    classes: np.ndarray
    ordered: bool = False

    sorted_by: ClassVar[str] = "log_loss"

    @property
    def metrics(self) -> tuple[str, ...]:
        steps = ["mean_steps_off"] if self.ordered else []
        return ("error", *steps, "log_loss", "brier", "roc_auc", "average_precision", "calibration_error")

    def refusal(self, model: Any) -> str:
        return "" if hasattr(model, "predict_proba") else "expected a classifier with predict_proba, got one without"

    def predict(self, model: Any, X: Any) -> np.ndarray:
        if len(model.classes_) != len(self.classes):
            got = f"{len(model.classes_)} of {len(self.classes)} in one"
            raise ValueError(f"expected every class in every training part, got {got}; use stratified folds or fewer")
        given = model.predict_proba(X)
        proba = np.empty((len(given), len(self.classes)))
        proba[:, label_positions(model.classes_, self.classes)] = given  # classes in an order are not sorted
        return proba

    def scores(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        labels, choice = label_positions(y, self.classes), predicted.argmax(axis=1)
        own = np.maximum(predicted[np.arange(len(labels)), labels], 1e-300)
        found = {"error": float(np.mean(choice != labels)), "log_loss": float(-np.mean(np.log(own)))}
        if self.ordered:
            found["mean_steps_off"] = float(np.mean(np.abs(choice - labels)))
        return found

    def pooled(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
        found = classification_scores(label_positions(y, self.classes), predicted)
        by_class = [
            {"label": label, **own} for label, own in zip(self.classes.tolist(), found["by_class"], strict=True)
        ]
        names = ("brier", "roc_auc", "average_precision", "calibration_error")
        return {name: found[name] for name in names} | {"by_class": by_class}


@dataclass(frozen=True)
class NumberTarget:
    """Means (m, 1), with standard deviations (m, 2) from models that have them."""

    metrics: ClassVar = ("rmse", "log_density", "inside_90")
    sorted_by: ClassVar[str] = "rmse"

    def refusal(self, model: Any) -> str:
        return "" if hasattr(model, "predict") else "expected a regressor with predict, got one without"

    def predict(self, model: Any, X: Any) -> np.ndarray:
        if _gives_sd(model):
            return np.stack(model.predict(X, return_std=True), axis=1)
        return np.asarray(model.predict(X), float)[:, None]

    def scores(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        residual = y - predicted[:, 0]
        found = {"rmse": float(np.sqrt(np.mean(residual**2)))}
        if predicted.shape[1] == 1:
            return found
        sd = predicted[:, 1]
        log_density = -0.5 * (residual / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
        inside = np.abs(residual) <= ndtri(0.95) * sd
        return found | {"log_density": float(log_density.mean()), "inside_90": float(inside.mean())}

    def pooled(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
        return {}


def rank(
    estimators: Mapping[str, Any],
    X: Any,
    y: np.ndarray,
    target: TargetKind,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    time_limit: float | None = None,
    monitor: Monitor = SILENT,
    clock: Callable[[], float] = time.monotonic,
) -> Leaderboard:
    """Fit each model on the same folds, and sort the models by what they predict.

    After ``time_limit`` seconds no further fit begins, and learning stops in a running one that takes callbacks.
    """
    started, done, interrupted = clock(), {}, False
    with monitor.task("models", len(estimators)) as models:
        for name, estimator in estimators.items():
            remaining = None if time_limit is None else time_limit - (clock() - started)
            trial = _Trial(name, target, remaining, clock)
            done[name] = trial
            try:
                with models.task(name, len(folds)) as steps:
                    trial.run(estimator, X, y, folds, steps)
            except KeyboardInterrupt:
                trial.stop("interrupted")
                interrupted = True
                break
            models.step()
    ranked = [trial.result() for trial in done.values()]
    ranked += [Ranked(name, "not started", 0, {}, {}, 0.0) for name in estimators if name not in done]
    ranked.sort(key=lambda one: (STATES.index(one.state), one.scores.get(target.sorted_by, np.inf)))
    return Leaderboard(tuple(ranked), target.metrics, len(folds), interrupted)


class _Trial:
    """The folds of one model."""

    def __init__(self, name: str, target: TargetKind, remaining: float | None, clock: Callable[[], float]) -> None:
        self.name, self.target, self.clock = name, target, clock
        self.end = None if remaining is None else clock() + remaining
        self.state, self.message = "finished", ""
        self.values: list[dict[str, float]] = []
        self.tested: list[tuple[np.ndarray, np.ndarray]] = []
        self.seconds: list[float] = []

    def run(self, estimator: Any, X: Any, y: np.ndarray, folds: Sequence[Any], steps: Monitor) -> None:
        for train, test in folds:
            left = None if self.end is None else self.end - self.clock()
            if left is not None and left <= 0.0:
                self.stop("no time left")
                return
            try:
                self._fold(estimator, X, y, train, test, left)
            except Exception as error:
                first = next((line for line in str(error).splitlines() if line.strip()), "")
                self.state, self.message = "failed", first.strip() or type(error).__name__
                return
            steps.step()

    def stop(self, message: str) -> None:
        self.state, self.message = "stopped" if self.values else "not started", message

    def _fold(
        self, estimator: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, left: float | None
    ) -> None:
        model, start = clone(estimator), self.clock()
        if refusal := self.target.refusal(model):
            raise TypeError(refusal)
        last = _last(model)
        if left is not None and hasattr(last, "set_callbacks"):
            last.set_callbacks(TimeLimit(left, clock=self.clock))
        X_train, y_train = _safe_split(model, X, y, train)
        X_test, _ = _safe_split(model, X, y, test, train)
        predicted = self.target.predict(model.fit(X_train, y_train), X_test)
        if not np.all(np.isfinite(predicted)):
            raise ValueError("expected finite predictions, got some that are not")
        self.values.append(self.target.scores(y[test], predicted))
        self.tested.append((y[test], predicted))
        self.seconds.append(self.clock() - start)
        if getattr(getattr(last, "hyper_", None), "stopped", False):
            self.message = "learning was stopped by the time limit"

    def result(self) -> Ranked:
        if self.state == "failed" or not self.values:
            return Ranked(self.name, self.state, len(self.values), {}, {}, _mean(self.seconds), self.message)
        table = {name: np.array([one[name] for one in self.values]) for name in self.values[0]}
        n = len(self.values)
        errors = {} if n == 1 else {name: float(of.std(ddof=1) / np.sqrt(n)) for name, of in table.items()}
        scores = {name: float(of.mean()) for name, of in table.items()}
        pooled = self.target.pooled(*(np.concatenate(part) for part in zip(*self.tested, strict=True)))
        by_class = pooled.pop("by_class", ())
        return Ranked(self.name, self.state, n, scores | pooled, errors, _mean(self.seconds), self.message, by_class)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _last(model: Any) -> Any:
    """The estimator itself, at the end of pipelines."""
    return _last(model[-1]) if isinstance(model, Pipeline) else model


def _gives_sd(model: Any) -> bool:
    return "return_std" in inspect.signature(_last(model).predict).parameters

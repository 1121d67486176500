"""Rows worth a look: those a model owes most to, and those it expected least."""

from __future__ import annotations

from typing import Any

import numpy as np

from .reading import Table

_SHOWN = 10


def spread(n: int, most: int) -> np.ndarray:
    """At most so many of n places, evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def surprising(
    table: Table, rows: np.ndarray, scored: dict[str, np.ndarray], labels: list[str]
) -> list[dict[str, Any]]:
    """Rows whose label or number was the least expected."""
    if "mean" in scored:
        off = np.abs(scored["y"] - scored["mean"]) / scored["sd"]
        worst = np.argsort(-off)[:_SHOWN]
        return [_row(table, rows[i], {"sds_off": float(off[i]), "expected": float(scored["mean"][i])}) for i in worst]
    proba = scored["proba"]
    own = proba[np.arange(len(proba)), scored["labels"]]
    worst = np.argsort(own, kind="stable")[:_SHOWN]
    return [
        _row(table, rows[i], {"probability": float(own[i]), "expected": labels[int(proba[i].argmax())]}) for i in worst
    ]


def kept(table: Table, active: np.ndarray) -> list[dict[str, Any]]:
    """The first rows that an informative vector machine kept."""
    return [_row(table, int(row), {"kept_as": place}) for place, row in enumerate(active[:_SHOWN], start=1)]


def informative(table: Table, rows: np.ndarray, without: np.ndarray, with_label: np.ndarray) -> list[dict[str, Any]]:
    """Rows whose own label moves their prediction furthest, in nats: from without it to with it."""
    p, q = np.maximum(with_label, 1e-300), np.maximum(without, 1e-300)
    gain = np.sum(p * np.log(p / q), axis=1)
    best = np.argsort(-gain, kind="stable")[:_SHOWN]
    return [_row(table, int(rows[i]), {"nats": float(gain[i])}) for i in best]


def _row(table: Table, row: int, about: dict[str, Any]) -> dict[str, Any]:
    cells = {name: column[row] for name, column in table.columns.items()}
    return {"place": table.places[row], "unit": table.unit, **about, "cells": cells}

"""Text as numbers: how many words it has, and which of the words that occur often."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._labels import is_missing

_WORD = re.compile(r"[^\W_]+")
#: A column is text where more than this share of its values occur once, and one word at least this often, ...
_MIN_UNIQUE, _MIN_COUNT, _MIN_SHARE = 0.5, 3, 0.05
#: ... of which the most frequent so many become features.
_MOST_WORDS = 30


@dataclass(frozen=True)
class Words:
    """The frequent words of a column of text."""

    words: tuple[str, ...]

    @classmethod
    def fit(cls, values: list[Any]) -> Words | None:
        """Of the known values; None where values repeat, and so are categories, or no word does."""
        if not values or not all(isinstance(value, str) for value in values):
            return None
        once = sum(count == 1 for count in Counter(values).values())
        if once <= _MIN_UNIQUE * len(values):
            return None
        counts = Counter(word for value in values for word in words_of(value))
        least = max(_MIN_COUNT, _MIN_SHARE * len(values))
        frequent = [
            word
            for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if least <= count < len(values)
        ]
        return cls(tuple(frequent[:_MOST_WORDS])) if frequent else None

    @staticmethod
    def lengths(column: Any) -> np.ndarray:
        """Numbers of words (n,), NaN for missing values."""
        return np.array([np.nan if is_missing(text) else len(_WORD.findall(str(text))) for text in column], dtype=float)


def words_of(text: Any) -> frozenset[str]:
    """The words of a text in lower case; none of a missing one."""
    return frozenset() if is_missing(text) else frozenset(_WORD.findall(str(text).lower()))

"""Gram matrices of sequences and of the nodes of a graph, for ``Precomputed`` views beside X."""

from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer


def spectrum_gram(sequences: Sequence[str], others: Sequence[str] | None = None, *, k: int = 3) -> np.ndarray:
    """Cosines (m, n) between the k-mer counts of sequences and of others (of themselves when None).

    The spectrum kernel of Leslie, Eskin and Noble (2002), normalised to k(x, x) = 1. A sequence shorter than k has no
    covariance with others.
    """
    _check_length(k)
    return _normalised(sequences, others, [k], np.ones(1))


def kmer_gram(
    sequences: Sequence[str], others: Sequence[str] | None = None, *, k: int = 5, decay: float = 0.8
) -> np.ndarray:
    """As ``spectrum_gram``, over k-mers of every length from 1 to k at once: a comparison without alignment.

    Counts of a length enter by their cosine, lengths with weights ``decay**(k - length)``: the longer, the more two
    sequences must have in common.
    """
    _check_length(k)
    if not 0.0 < decay <= 1.0:
        raise ValueError(f"decay must be above 0 and at most 1, got {decay!r}")
    lengths = list(range(1, k + 1))
    weights = decay ** (k - np.array(lengths, dtype=float))
    return _normalised(sequences, others, lengths, weights / weights.sum())


def diffusion_gram(adjacency: Any, *, time: float = 1.0) -> np.ndarray:
    """Covariances (n, n) of the nodes of a graph: exp(-time L), L the normalised Laplacian, scaled to k(x, x) = 1.

    The diffusion kernel of Kondor and Lafferty (2002). ``adjacency`` (n, n) holds weights >= 0 of the edges, an array
    or a sparse matrix; nodes without edges have no covariance with others. The longer the time, the further
    the covariance reaches along the edges.
    """
    A = np.asarray(adjacency.toarray() if sparse.issparse(adjacency) else adjacency, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"expected a square adjacency matrix, got shape {A.shape}")
    if not np.all(np.isfinite(A)) or np.any(A < 0.0):
        raise ValueError("expected an adjacency matrix of finite weights >= 0, got others")
    if np.any(np.abs(A - A.T) > 1e-10 * max(np.max(A, initial=0.0), 1.0)):
        raise ValueError("expected a symmetric adjacency matrix (edges without direction), got one that is not")
    if not (isinstance(time, Real) and np.isfinite(float(time)) and time > 0.0):
        raise ValueError(f"time must be positive and finite, got {time!r}")
    degree = A.sum(axis=1)
    root = np.sqrt(np.where(degree > 0.0, degree, 1.0))
    laplacian = np.diag((degree > 0.0).astype(float)) - A / np.outer(root, root)
    values, vectors = np.linalg.eigh(laplacian)
    K = (vectors * np.exp(-time * np.maximum(values, 0.0))) @ vectors.T
    scale = np.sqrt(np.diag(K))
    K = K / np.outer(scale, scale)
    return 0.5 * (K + K.T)


def _check_length(k: int) -> None:
    if not (isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 1):
        raise ValueError(f"k must be a whole number >= 1, got {k!r}")


def _normalised(
    sequences: Sequence[str], others: Sequence[str] | None, lengths: list[int], weights: np.ndarray
) -> np.ndarray:
    """Weighted sums over the lengths of cosines, with 1 for each sequence and itself."""
    left = _checked(sequences)
    right = left if others is None else _checked(others)
    gram = np.zeros((len(left), len(right)))
    for k, weight in zip(lengths, weights, strict=True):
        counts = _counts(left + right, k)
        gram += weight * (counts[: len(left)] @ counts[len(left) :].T).toarray()

    def own(texts: list[str]) -> np.ndarray:
        """The sum for each sequence and itself: lengths beyond its own have no k-mers."""
        total = weights @ [[len(text) >= k for text in texts] for k in lengths]
        return np.where(total > 0.0, total, 1.0)

    gram /= np.sqrt(np.outer(own(left), own(right)))
    if others is None:
        np.fill_diagonal(gram, 1.0)
    return gram


def _checked(sequences: Sequence[str]) -> list[str]:
    if isinstance(sequences, str):
        raise ValueError("expected a list of strings, one for each row, got one string")
    given = list(sequences)
    wrong = [item for item in given if not isinstance(item, str)]
    if not given or wrong:
        raise ValueError(f"expected a list of strings, one for each row, got {wrong[0] if wrong else given!r}")
    return given


def _counts(sequences: list[str], k: int) -> sparse.csr_array:
    """Counts of k-mers, each row scaled to length 1."""
    words = [Counter(text[j : j + k] for j in range(len(text) - k + 1)) for text in sequences]
    matrix = sparse.csr_array(DictVectorizer().fit_transform(words))
    norms = np.sqrt(matrix.power(2).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ matrix)

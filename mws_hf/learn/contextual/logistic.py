"""Ridge logistic regression with soft targets by Newton's method, without BLAS; it knows nothing of words.

BLAS libraries differ in the order of their sums from machine to machine and stall when cores are shared; at this size
(109 weights) plain loops are as fast and give the same digits everywhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Doubles = npt.NDArray[np.float64]

MAX_STEPS = 60
TOLERANCE = 1e-4


def sigmoid(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """1 / (1 + exp(-x)), safe for any finite x."""
    result: npt.NDArray[Any] = 1 / (1 + np.exp(-np.clip(x, -50, 50)))
    return result


@njit(cache=True, nogil=True)
def gradient_of(rows: Doubles, targets: Doubles, ridge: float, weights: Doubles) -> Doubles:
    """Gradient of the penalised log-likelihood."""
    gradient = -ridge * weights
    for i in range(len(rows)):
        x = 0.0
        for k in range(len(weights)):
            x += rows[i, k] * weights[k]
        residual = targets[i] - 1 / (1 + math.exp(-min(max(x, -50.0), 50.0)))
        for k in range(len(weights)):
            gradient[k] += residual * rows[i, k]
    return gradient


@njit(cache=True, nogil=True)
def curvature_of(rows: Doubles, stride: int, ridge: float, weights: Doubles) -> Doubles:
    """Lower triangle of the negative Hessian, estimated from every `stride`-th row."""
    n = len(weights)
    result = np.zeros((n, n))
    for i in range(0, len(rows), stride):
        x = 0.0
        for k in range(n):
            x += rows[i, k] * weights[k]
        p = 1 / (1 + math.exp(-min(max(x, -50.0), 50.0)))
        factor = stride * (p * (1 - p) + 1e-6)
        for a in range(n):
            scaled = factor * rows[i, a]
            for b in range(a + 1):
                result[a, b] += scaled * rows[i, b]
    for a in range(n):
        result[a, a] += ridge
    return result


@njit(cache=True, nogil=True)
def solve_positive(lower: Doubles, right: Doubles) -> Doubles:
    """Solve A x = right for a positive definite A given by its lower triangle, by Cholesky; overwrites `lower`."""
    n = len(right)
    x = right.copy()
    for a in range(n):
        for b in range(a + 1):
            total = lower[a, b]
            for k in range(b):
                total -= lower[a, k] * lower[b, k]
            lower[a, b] = math.sqrt(total) if a == b else total / lower[b, b]
    for a in range(n):
        for k in range(a):
            x[a] -= lower[a, k] * x[k]
        x[a] /= lower[a, a]
    for a in range(n - 1, -1, -1):
        for k in range(a + 1, n):
            x[a] -= lower[k, a] * x[k]
        x[a] /= lower[a, a]
    return x


def fit_logistic(rows: Doubles, targets: Doubles, ridge: float, start: Doubles | None = None) -> Doubles:
    """Weights that maximise the likelihood of soft `targets` minus ridge / 2 * |weights|^2.

    The curvature only sets the path, so a tenth of many rows is enough for it; the gradient, which sets the result, is
    exact. A step that would not shrink the gradient is not expected of this convex problem, but is bounded by
    `MAX_STEPS`.

    Args:
        rows: shape (n, k), features on comparable scales.
        targets: shape (n,), probabilities.
        ridge: strength of the penalty, > 0.
        start: weights to start from; zeros when absent.

    >>> rows = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> [round(float(w), 3) for w in fit_logistic(rows, np.array([0.9, 0.1]), 1e-9)]
    [0.0, 2.197]
    """
    weights = np.zeros(rows.shape[1]) if start is None else start.copy()
    stride = 1 + len(rows) // 20_000
    for _ in range(MAX_STEPS):
        step = solve_positive(curvature_of(rows, stride, ridge, weights), gradient_of(rows, targets, ridge, weights))
        weights += step
        if np.abs(step).max() < TOLERANCE:
            break
    return weights

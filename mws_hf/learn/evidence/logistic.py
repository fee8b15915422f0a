"""Ridge logistic regression with soft targets by Newton's method, without BLAS.

BLAS libraries differ in the order of their sums from machine to machine and stall when cores are shared; at this size
(109 weights) plain loops are as fast, and with our own exp and log they give the same digits on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from mws_hf.kernels.arithmetic import exp, log
from mws_hf.kernels.arrays import Doubles
from mws_hf.kernels.jit import njit

MAX_STEPS = 50
KEEP_CURVATURE = 0.5
TOLERANCE = 1e-3
FIRST_SAMPLE = 8000


@njit(nogil=True)
def penalised_likelihood(rows: Doubles, targets: Doubles, ridge: float, weights: Doubles, gradient: Doubles) -> float:
    """Compute the log-likelihood of soft targets minus ridge / 2 * |weights|^2; writes its gradient to `gradient`."""
    value = 0.0
    for k in range(len(weights)):
        gradient[k] = -ridge * weights[k]
        value -= 0.5 * ridge * weights[k] * weights[k]
    for i in range(len(rows)):
        x = 0.0
        for k in range(len(weights)):
            x += rows[i, k] * weights[k]
        # log(1 + exp(x)) without overflow
        decay = exp(-abs(x))
        value += targets[i] * x - max(x, 0.0) - log(1 + decay)
        residual = targets[i] - (1.0 if x > 0 else decay) / (1 + decay)
        for k in range(len(weights)):
            gradient[k] += residual * rows[i, k]
    return value


def curvature_of(rows: Doubles, ridge: float, weights: Doubles) -> Doubles:
    """Compute the lower triangle of the negative Hessian of the penalised likelihood; float64, shape (k, k)."""
    result = np.zeros((len(weights), len(weights)))
    _add_curvature(rows, weights, np.empty(len(rows)), result)
    result[np.diag_indices_from(result)] += ridge
    return result


@njit(nogil=True)
def _add_curvature(rows: Doubles, weights: Doubles, factors: Doubles, result: Doubles) -> None:
    n = len(weights)
    for i in range(len(rows)):
        x = 0.0
        for k in range(n):
            x += rows[i, k] * weights[k]
        decay = exp(-abs(x))
        factors[i] = decay / (1 + decay) ** 2 + 1e-6
    whole = len(rows) - len(rows) % 4
    for i in range(0, whole, 4):  # four at a time, for then the triangle is read a quarter as often; in their order
        for a in range(n):
            s0, s1 = factors[i] * rows[i, a], factors[i + 1] * rows[i + 1, a]
            s2, s3 = factors[i + 2] * rows[i + 2, a], factors[i + 3] * rows[i + 3, a]
            for b in range(a + 1):
                total = result[a, b] + s0 * rows[i, b]
                total += s1 * rows[i + 1, b]
                total += s2 * rows[i + 2, b]
                result[a, b] = total + s3 * rows[i + 3, b]
    for i in range(whole, len(rows)):
        for a in range(n):
            scaled = factors[i] * rows[i, a]
            for b in range(a + 1):
                result[a, b] += scaled * rows[i, b]


@njit(nogil=True)
def factorise(lower: Doubles) -> None:
    """Compute the Cholesky factor of a positive definite matrix, in place of its lower triangle."""
    for a in range(len(lower)):
        for b in range(a + 1):
            total = lower[a, b]
            for k in range(b):
                total -= lower[a, k] * lower[b, k]
            lower[a, b] = math.sqrt(total) if a == b else total / lower[b, b]


def substitute(factor: Doubles, right: Doubles) -> Doubles:
    """Solve A x = right, given the Cholesky factor of A."""
    x = right.copy()
    _substitute(factor, x)
    return x


@njit(nogil=True)
def _substitute(factor: Doubles, x: Doubles) -> None:
    n = len(x)
    for a in range(n):
        for k in range(a):
            x[a] -= factor[a, k] * x[k]
        x[a] /= factor[a, a]
    for a in range(n - 1, -1, -1):
        for k in range(a + 1, n):
            x[a] -= factor[k, a] * x[k]
        x[a] /= factor[a, a]


def fit_logistic(rows: Doubles, targets: Doubles, ridge: float, start: Doubles | None = None) -> Doubles:
    """Find the weights that maximise the likelihood of soft `targets` minus ridge / 2 * |weights|^2.

    Of many rows an even sample is fitted first. Its weights are near the final ones, and its curvature serves for all
    rows.

    Args:
        rows: shape (n, k), features on comparable scales.
        targets: shape (n,), probabilities.
        ridge: strength of the penalty, > 0.
        start: weights to start from; zeros when absent.

    >>> rows = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> [round(float(w), 3) for w in fit_logistic(rows, np.array([0.9, 0.1]), 1e-9)]
    [0.0, 2.197]
    """
    weights, factor = np.zeros(rows.shape[1]) if start is None else start, None
    every = len(rows) // FIRST_SAMPLE
    if every > 1:
        some = rows[::every].copy()
        weights = _newton(some, targets[::every].copy(), ridge / every, weights)
        factor = every * curvature_of(some, ridge / every, weights)
        factorise(factor)
    return _newton(rows, targets, ridge, weights, factor)


def _newton(rows: Doubles, targets: Doubles, ridge: float, weights: Doubles, factor: Doubles | None = None) -> Doubles:
    """Take Newton's steps, halved while they make the likelihood worse.

    The curvature, which costs ten times the gradient, is kept as long as it serves; `factor` is its Cholesky factor.
    """
    weights, gradient, ahead = weights.copy(), np.empty(len(weights)), np.empty(len(weights))
    value = penalised_likelihood(rows, targets, ridge, weights, gradient)
    for _ in range(MAX_STEPS):
        if factor is None:
            factor = curvature_of(rows, ridge, weights)
            factorise(factor)
        step = substitute(factor, gradient)
        while (better := penalised_likelihood(rows, targets, ridge, weights + step, ahead)) < value:
            step /= 2
            if np.abs(step).max() < TOLERANCE:
                return weights
        weights += step
        if np.abs(step).max() < TOLERANCE:
            break
        if np.abs(ahead).max() > KEEP_CURVATURE * np.abs(gradient).max():
            factor = None
        value, gradient, ahead = better, ahead, gradient
    return weights

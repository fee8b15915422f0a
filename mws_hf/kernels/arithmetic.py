"""Compute logarithms, exponentials and sums that are the same to the last bit on every machine.

IEEE 754 defines the exact result of + - * / and of the square root, and compilers keep their order unless a flag allows
another one. It does not define log and exp: NumPy and the C library have several versions for different processors
(AVX2, AVX-512, FMA), which differ in the last bit, and the last bit decides between merges of nearly equal score.
Therefore every number that a merge depends on is computed here, with these five operations. The polynomials are those
of Sun's fdlibm (e_log.c, e_exp.c), with errors below 1 unit in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from mws_hf.kernels import Array, Doubles, Floats
from mws_hf.kernels.jit import njit
from mws_hf.kernels.threads import in_parts

_LN2_HIGH, _LN2_LOW, _PER_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700
# bits of doubles: those of 1 and of the square root of 1/2, and the mask of the fraction
_ONE, _ROOT_HALF, _FRACTION = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0xFFFFFFFFFFFFF
_LEAST_NORMAL, _TWO_54 = 2.2250738585072014e-308, 18014398509481984.0


@njit(nogil=True)
def log(x: float) -> float:
    """Compute the natural logarithm of a finite x; -inf if x is 0 or negative."""
    if x <= 0.0:
        return -math.inf
    scaled = 0
    if x < _LEAST_NORMAL:
        x, scaled = x * _TWO_54, 54
    bits = np.float64(x).view(np.int64) + (_ONE - _ROOT_HALF)
    exponent = (bits >> 52) - 1023 - scaled
    f = np.int64((bits & _FRACTION) + _ROOT_HALF).view(np.float64) - 1.0  # x / 2 ** exponent - 1, around 0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = z * (
        6.666666666666735130e-01
        + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    half = 0.5 * f * f
    return float(s * (half + (even + odd)) + exponent * _LN2_LOW - half + f + exponent * _LN2_HIGH)


@njit(nogil=True)
def exp(x: float) -> float:
    """Compute e to the power x; 0 for x below -700, and inf for x above 709.

    Below -700 the power is too small to change any number of the learner.
    """
    if x < -700.0:
        return 0.0
    if x > 709.0:
        return math.inf
    k = math.floor(x * _PER_LN2 + 0.5)
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    z = r * r
    c = r - z * (
        1.66666666666666019037e-01
        + z
        * (
            -2.77777777770155933842e-03
            + z * (6.61375632143793436117e-05 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))
        )
    )
    power = np.int64((k + 1023) << 52).view(np.float64)  # 2 ** k
    return float((1.0 + (r * c / (2.0 - c) - low + high)) * power)


_LOG, _LOG2, _EXP, _SIGMOID = map(np.int64, range(4))


@njit(nogil=True)
def _fill(function: int, values: Doubles, out: Doubles) -> None:
    """Apply one of the functions `_LOG`, `_LOG2`, `_EXP` and `_SIGMOID` to all values.

    They share a kernel, because each kernel takes a tenth of a second to compile.
    """
    for k in range(len(values)):
        x = values[k]
        if function == _LOG:
            out[k] = log(x)
        elif function == _LOG2:
            power = np.int64(0)
            while x >= 2.0:  # so that the logarithms of powers of 2 are exact integers
                power += 1
                x *= 0.5
            out[k] = power + _PER_LN2 * log(x)
        elif function == _EXP:
            out[k] = exp(x)
        else:
            out[k] = 1.0 / (1.0 + exp(-min(max(x, -50.0), 50.0)))


@njit(nogil=True)
def _fill_log_odds(p: Floats, least: float, out: Floats) -> None:
    for k in range(len(p)):
        q = min(max(np.float64(p[k]), least), 1.0 - least)
        out[k] = np.float32(log(q / (1.0 - q)))


def _filled(function: np.int64, values: Array) -> Doubles:
    """Apply a function of `_fill` to a flat array, in threads."""
    out = np.empty(len(values))
    in_parts(lambda a, b: _fill(function, np.ascontiguousarray(values[a:b], np.float64), out[a:b]), len(out))
    return out


@njit(nogil=True)
def _column_sums(rows: Doubles, sums: Doubles) -> None:
    for k in range(len(rows)):
        for c in range(len(sums)):
            sums[c] += rows[k, c]


@njit(nogil=True)
def _fill_moments(rows: Doubles, mean: Doubles, deviation: Doubles) -> None:
    n = max(len(rows), 1)
    _column_sums(rows, mean)
    for c in range(len(mean)):
        mean[c] /= n
    for k in range(len(rows)):
        for c in range(len(mean)):
            deviation[c] += (rows[k, c] - mean[c]) * (rows[k, c] - mean[c])
    for c in range(len(mean)):
        deviation[c] = math.sqrt(deviation[c] / n)


def logs(values: Array) -> Doubles:
    """Compute the natural logarithms of a flat array.

    >>> logs(np.array([1, 0])).tolist()
    [0.0, -inf]
    """
    return _filled(_LOG, values)


def log2s(values: Array) -> Doubles:
    """Compute the logarithms to base 2 of a flat array of counts.

    >>> log2s(np.array([1, 2, 8])).tolist()
    [0.0, 1.0, 3.0]
    """
    return _filled(_LOG2, values)


def exps(values: Array) -> Doubles:
    """Compute the exponentials of a flat array, as `exp` does for a single number.

    >>> exps(np.array([0, -1000])).tolist()
    [1.0, 0.0]
    """
    return _filled(_EXP, values)


def log_odds(p: Floats, least: float = 1e-3) -> Floats:
    """Compute log(p / (1 - p)) of a flat array, float32, after clipping p to the range from `least` to 1 - `least`."""
    out = np.empty(len(p), np.float32)
    in_parts(lambda a, b: _fill_log_odds(p[a:b], least, out[a:b]), len(out))
    return out


def sigmoid(x: Doubles) -> Doubles:
    """Compute 1 / (1 + exp(-x)) of a flat array, after clipping x to the range from -50 to 50."""
    return _filled(_SIGMOID, x)


def column_sums(rows: Doubles) -> Doubles:
    """Add up each column of a two-dimensional array, row after row; NumPy would not guarantee an order."""
    sums = np.zeros(rows.shape[1])
    _column_sums(rows, sums)
    return sums


def moments(rows: Doubles, columns: int | None = None) -> tuple[Doubles, Doubles]:
    """Compute the mean and standard deviation of each column, or of the first `columns` columns.

    >>> mean, deviation = moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean.tolist(), deviation.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    n = rows.shape[1] if columns is None else columns
    mean, deviation = np.zeros(n), np.zeros(n)
    _fill_moments(rows, mean, deviation)
    return mean, deviation

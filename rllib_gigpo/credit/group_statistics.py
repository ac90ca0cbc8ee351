"""Mean and std of groups, free of float noise and of the order of the rows.

Sums are exact before their last rounding, so a group's statistics are the same to the
last bit whatever the order of its rows and whatever other groups are in the table.
Values that differ by float noise only count as constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupStatistics:
    """Figures of G groups, each array [G].

    Attributes:
        count: int64, number of values.
        mean: float64.
        std: float64; 0 where ``count <= ddof``.
        is_constant: bool, whether the values are equal but for float noise.

    Example:
        The values ``[10, 0, 5]`` of the groups ``[0, 0, 1]`` give ``count=[2, 1]``,
        ``mean=[5, 5]``, ``std=[7.07, 0]`` (ddof 1) and ``is_constant=[False, True]``.
    """

    count: NDArray[np.int64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    is_constant: NDArray[np.bool_]


def group_statistics(
    values: NDArray[np.float64],
    group: NDArray[np.int64],
    *,
    ddof: int,
    constant_tolerance: float,
) -> GroupStatistics:
    """Count, mean and std of the values of each group.

    Args:
        values: float64 [R], finite.
        group: int64 [R], dense codes 0 .. G-1, each there at least once.
        ddof: Taken off the count under the variance.
        constant_tolerance: A group is constant when max - min is at most this times
            max(1, |mean|).
    """
    count = np.bincount(group)
    low = np.full(len(count), np.inf)
    high = np.full(len(count), -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    largest = np.maximum(np.abs(low), np.abs(high))
    mean = _sum_by_group(values, group, count, largest) / count
    deviation = values - mean[group]
    largest_square = np.maximum(high - mean, mean - low) ** 2
    squares = _sum_by_group(deviation**2, group, count, largest_square)
    return GroupStatistics(
        count=count,
        mean=mean,
        std=np.sqrt(squares / np.maximum(count - ddof, 1)) * (count > ddof),
        is_constant=high - low <= constant_tolerance * np.maximum(1.0, np.abs(mean)),
    )


def _sum_by_group(
    values: NDArray[np.float64],
    group: NDArray[np.int64],
    count: NDArray[np.int64],
    largest: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum of each group, [G], the same in any order of addition.

    Each value is split at a bit that depends on its group alone, so that the upper
    parts of a group add up without rounding, and so do the lower parts. What is below
    both is under count**2 * 2**-97 of the largest value and left out.

    Source: pre-rounding, Demmel and Nguyen, "Fast Reproducible Floating-Point
    Summation", ARITH 2013.
    """
    bits = np.ceil(np.log2(count)).astype(np.int64) + 2
    total = np.zeros(len(count))
    bound = largest
    for _ in range(2):
        splitter = np.ldexp(1.5, np.frexp(bound)[1] + bits)
        at_row = splitter[group]
        upper = (values + at_row) - at_row
        total += np.bincount(group, upper)
        values = values - upper
        bound = np.spacing(splitter)
    return total

"""Columns of a step table: right kind, one dimension, right length.

Enters: what a caller passed as a column. Leaves: keys with a length, or an array of one
dtype with one entry per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rllib_gigpo.errors import CreditError


def key_column(
    keys: Iterable[object], column: str, num_rows: int | None = None
) -> NDArray[np.generic] | Sequence[object]:
    """Keys of any kind, with a length: ``num_rows``, or if None any but 0."""
    listed = keys if isinstance(keys, np.ndarray | list | tuple) else list(keys)
    if num_rows is None and len(listed) == 0:
        raise CreditError("a step table needs at least one row; it was given none")
    if num_rows is not None:
        _check_length(len(listed), column, num_rows)
    return listed


def integer_column(values: ArrayLike, column: str, num_rows: int) -> NDArray[np.int64]:
    """Integers of any width, int64 [num_rows]."""
    integers = _array(values, column, num_rows)
    if integers.dtype.kind not in "iu":
        raise CreditError(
            f"column {column!r} has dtype {integers.dtype}; it must be integers"
        )
    return integers.astype(np.int64)


def number_column(values: ArrayLike, column: str, num_rows: int) -> NDArray[np.float64]:
    """Real numbers of any kind, float64 [num_rows]; may be infinite or NaN."""
    numbers = _array(values, column, num_rows)
    if numbers.dtype.kind not in "iufb":
        raise CreditError(
            f"column {column!r} has dtype {numbers.dtype}; it must be numbers"
        )
    return numbers.astype(np.float64)


def boolean_column(values: ArrayLike, column: str, num_rows: int) -> NDArray[np.bool_]:
    """Booleans, bool [num_rows]; 0 and 1 are not taken for them."""
    flags = _array(values, column, num_rows)
    if flags.dtype != np.bool_:
        raise CreditError(
            f"column {column!r} has dtype {flags.dtype}; it must be booleans"
        )
    return flags.astype(np.bool_)


def _array(values: ArrayLike, column: str, num_rows: int) -> NDArray[np.generic]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged
        raise CreditError(f"column {column!r} must be 1-D: {error}") from error
    if array.ndim != 1:
        raise CreditError(f"column {column!r} has shape {array.shape}; it must be 1-D")
    _check_length(len(array), column, num_rows)
    return array


def _check_length(length: int, column: str, num_rows: int) -> None:
    if length != num_rows:
        raise CreditError(
            f"column {column!r} has {length} rows, column 'group' has {num_rows}; "
            "all columns need one entry per row"
        )

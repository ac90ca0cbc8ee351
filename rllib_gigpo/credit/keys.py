"""Any hashable keys in, integer codes out: the only place that touches rows in Python.

Two keys get one code exactly when they are equal *and* of one kind: ``1``, ``1.0`` and
``True`` are equal in Python yet stay apart here, and arrays are told apart by dtype and
shape as well as by content. Inside a tuple Python's own equality rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.errors import CreditError

Codes: TypeAlias = NDArray[np.int64]

# Python compares these across types, so a column that mixes them needs the type as
# well.
_NUMERIC_TYPES = frozenset({bool, int, float, complex})
# A table of this many cells a row is still cheaper than a sort.
_DENSE_CELLS_PER_ROW = 8


def encode_keys(
    keys: Iterable[object] | NDArray[np.generic], column: str
) -> tuple[Codes, Sequence[Hashable]]:
    """Number the distinct keys of a column.

    Args:
        keys: R keys, hashable or numpy arrays; a 1-D array or any sequence.
        column: Its name, for errors.

    Returns:
        Codes, int64 [R], dense from 0; and the label of each code.

    Raises:
        CreditError: The column is not 1-D, or a key is unhashable or NaN.
    """
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise CreditError(
                f"column {column!r} has shape {keys.shape}; it must be 1-D, one key "
                "per row (for array keys pass a list of arrays)"
            )
        if keys.dtype.kind in "iu" and np.can_cast(keys.dtype, np.int64):
            return _encode_integers(keys.astype(np.int64))
        keys = keys.tolist()
    return _encode_objects(list(keys), column)


def compact(codes: Codes) -> Codes:
    """Renumber non-negative codes densely from 0, keeping their order.

    Linear in rows while the largest code is within a few times their number; else a
    sort.
    """
    num_cells = int(codes.max()) + 1
    if num_cells > _DENSE_CELLS_PER_ROW * len(codes):
        _, dense = np.unique(codes, return_inverse=True)
        return dense.astype(np.int64, copy=False)
    is_present = np.zeros(num_cells, np.int64)
    is_present[codes] = 1
    return np.asarray(np.cumsum(is_present) - 1)[codes]


def compact_pairs(major: Codes, minor: Codes) -> Codes:
    """Number the distinct (major, minor) pairs densely from 0, both non-negative."""
    return compact(major * (int(minor.max()) + 1) + minor)


def _encode_integers(keys: NDArray[np.int64]) -> tuple[Codes, Sequence[Hashable]]:
    low, high = int(keys.min()), int(keys.max())
    # Danger: high - low may exceed int64; Python's integers decide before numpy
    # subtracts.
    if high - low < _DENSE_CELLS_PER_ROW * len(keys):
        codes = compact(keys - low)
    else:
        codes = np.unique(keys, return_inverse=True)[1].astype(np.int64, copy=False)
    labels = np.empty(int(codes.max()) + 1, np.int64)
    labels[codes] = keys
    return codes, labels.tolist()


def _encode_objects(
    keys: list[object], column: str
) -> tuple[Codes, Sequence[Hashable]]:
    kinds = set(map(type, keys))
    if any(issubclass(kind, np.generic | np.ndarray) for kind in kinds):
        keys = [_plain(key) for key in keys]
        kinds = set(map(type, keys))
    is_mixed = len(kinds & _NUMERIC_TYPES) > 1
    hashable: list[Hashable] = (
        list(zip(map(type, keys), keys, strict=True)) if is_mixed else keys
    )
    try:
        code_of = {key: code for code, key in enumerate(dict.fromkeys(hashable))}
    except TypeError as error:
        raise CreditError(_unhashable_message(keys, column)) from error
    if float in kinds and any(key != key for key in code_of):
        raise CreditError(f"column {column!r} has a NaN key, which equals nothing")
    codes = np.fromiter(map(code_of.__getitem__, hashable), np.int64, len(keys))
    labels = list(code_of)
    return codes, [label[1] for label in labels] if is_mixed else labels  # type: ignore[index]


def _plain(key: object) -> object:
    """A numpy scalar as Python's; an array as what makes it that array."""
    if isinstance(key, np.generic):
        return key.item()
    if isinstance(key, np.ndarray):
        digest = hashlib.blake2b(key.tobytes(), digest_size=16).digest()
        return ("array", key.dtype.str, key.shape, digest)
    return key


def _unhashable_message(keys: list[object], column: str) -> str:
    for row, key in enumerate(keys):
        try:
            hash(key)
        except TypeError:
            return (
                f"column {column!r}, row {row}: a {type(key).__name__} cannot be a "
                "key; turn it into a tuple, a string or a numpy array"
            )
    raise AssertionError("every key is hashable")

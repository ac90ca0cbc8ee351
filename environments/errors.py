"""What can go wrong with an environment; each error is also a standard one."""

from __future__ import annotations


class EnvironmentsError(Exception):
    """Base of all errors raised by this package."""


class MissingDataError(EnvironmentsError, FileNotFoundError):
    """Data that an environment needs is not there; the message says how to get it."""


class GameFileError(EnvironmentsError, ValueError):
    """A game file that cannot be played, with the reason and the file's name."""


class DataFileError(EnvironmentsError, ValueError):
    """A data file that cannot be read, with the reason and the file's name."""


class ContractError(EnvironmentsError, ValueError):
    """An environment that breaks the contract; the message says where and the cure."""


class RetrievalError(EnvironmentsError, RuntimeError):
    """A retrieval server that does not answer, or not as it should."""


class CatalogError(EnvironmentsError, ValueError):
    """A product file that cannot be read, with the row and the reason."""


class GameProcessError(EnvironmentsError, RuntimeError):
    """A process that plays games failed, died or hung; the message says which."""


class NoAdviceError(EnvironmentsError, ValueError):
    """An expert in a state from which the task can no longer be solved."""

"""What can go wrong, each error also a standard one, and picklable to cross Ray."""

from __future__ import annotations


class GiGPOError(Exception):
    """Base of all errors raised by this package."""


class ConfigError(GiGPOError, ValueError):
    """A setting, or a combination of settings, that cannot work."""


class ModelFolderError(GiGPOError, ValueError):
    """A model folder that is missing, incomplete or unfit."""


class EngineError(GiGPOError, RuntimeError):
    """An inference engine failed, died or did not answer in time."""


class RolloutError(GiGPOError, RuntimeError):
    """Too many episodes failed for the run to go on."""


class WeightSyncError(GiGPOError, RuntimeError):
    """An engine does not hold the weights it should."""


class CheckpointError(GiGPOError, RuntimeError):
    """A checkpoint that is incomplete or does not fit."""


class CreditError(GiGPOError, ValueError):
    """A step table that no advantage can be computed from."""


class DownloadError(GiGPOError, RuntimeError):
    """Data that could not be fetched whole, or is not what was expected."""

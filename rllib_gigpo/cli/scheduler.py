"""``--scheduler`` and ``--scheduler-config``: how Tune runs several trials."""

from __future__ import annotations

import argparse
import inspect
from typing import TYPE_CHECKING

from rllib_gigpo.cli.settings import nearest
from rllib_gigpo.errors import ConfigError

if TYPE_CHECKING:
    from ray.tune.schedulers import TrialScheduler


def make_scheduler(arguments: argparse.Namespace) -> TrialScheduler:
    """The scheduler by name.

    Raises:
        ConfigError: The name or its settings are refused.
    """
    from ray.tune import TuneError
    from ray.tune.schedulers import create_scheduler

    name, settings = arguments.scheduler, arguments.scheduler_config
    try:
        scheduler = create_scheduler(name, **settings)
    except (ValueError, TypeError, AssertionError, TuneError) as error:
        raise ConfigError(f"--scheduler {name}: {error}") from error
    # Tune drops settings that the scheduler does not have, without a word.
    known = inspect.signature(type(scheduler)).parameters
    for key in settings:
        if key not in known:
            raise ConfigError(
                f"--scheduler-config: {name} has no {key!r}{nearest(key, known)}"
            )
    if missing := [key for key in ("metric", "mode") if key in known.keys() - settings]:
        raise ConfigError(
            f"--scheduler {name} compares trials and lacks {' and '.join(missing)}: "
            '--scheduler-config \'{"metric": "env_runners/episode_return_mean", '
            '"mode": "max"}\''
        )
    return scheduler

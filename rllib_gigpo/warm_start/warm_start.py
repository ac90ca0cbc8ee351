"""From an environment's expert to a small model that plays it imperfectly.

The flow: play the expert, train a tokenizer on what was said, build a model, fine-tune
it until it solves the share of tasks that was asked for, save a Hugging Face folder.
The same settings give the same model on one machine; a folder that is there already is
taken as it is if it was made from the same settings and demonstrations.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from environments.tasks import Task
from environments.text_env import TextEnv
from rllib_gigpo.checkpoints import atomic_folder
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.modules.model_folder import save_model
from rllib_gigpo.rollout.make_env import make_text_env
from rllib_gigpo.rollout.prompts import PromptRenderer
from rllib_gigpo.rollout.settings import RolloutSettings
from rllib_gigpo.warm_start.demonstrations import (
    Demonstration,
    ExpertPlay,
    conversations,
    encode,
    play_expert,
)
from rllib_gigpo.warm_start.fit import FitSettings, fit
from rllib_gigpo.warm_start.model import MODEL_SIZES, build_model
from rllib_gigpo.warm_start.settings import WarmStartSettings
from rllib_gigpo.warm_start.success import measure_success
from rllib_gigpo.warm_start.tokenizer import train_tokenizer

logger = logging.getLogger(__name__)

REPORT_FILE = "warm_start.json"
_NUM_PROBE_EPISODES = 16
"""Episodes that stand for all demonstrations when a cached model is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStartReport:
    """What was made.

    Attributes:
        folder: The Hugging Face folder.
        success: Share of solved training tasks at the last check.
        num_steps: Optimizer steps taken.
        loss: Mean negative logprob of a response token at the end, nats.
        seconds: Wall time; 0 if the model was there already.
    """

    folder: Path
    success: float
    num_steps: int
    loss: float
    seconds: float


def warm_start(
    settings: WarmStartSettings, folder: Path | None = None
) -> WarmStartReport:
    """Make the model of these settings, unless it is there already.

    Args:
        settings: What to make.
        folder: Where to; ``settings.folder()`` by default.

    Raises:
        ConfigError: The environment is unknown or has no expert, or the folder holds
            something else.
    """
    folder = settings.folder() if folder is None else folder
    start = time.perf_counter()
    env = _make_env(settings)
    demonstrated, check_tasks = _split_tasks(env, settings)
    fingerprint = _fingerprint(env, demonstrated, settings)
    if (report := _read_report(folder, fingerprint)) is not None:
        return report
    play = _play(env, demonstrated, settings)
    logger.info(
        "expert: solved %d of %d episodes, %d steps to learn from",
        play.num_successes,
        play.num_episodes,
        len(play.steps),
    )
    size = MODEL_SIZES[settings.model_size]
    tokenizer = train_tokenizer(
        conversations(play.steps, env.prompt),
        vocabulary_size=settings.vocabulary_size,
        max_length=size.max_length,
    )
    model = build_model(size, tokenizer, seed=settings.seed)
    logger.info(
        "model: %d parameters, %d tokens of vocabulary",
        model.num_parameters(),
        len(tokenizer),
    )
    report = _fit(model, tokenizer, env, play.steps, check_tasks, settings, folder)
    report = dataclasses.replace(report, seconds=time.perf_counter() - start)
    with atomic_folder(folder) as aside:
        save_model(model, tokenizer, aside)
        _write_report(aside, report, fingerprint)
    return report


def _make_env(settings: WarmStartSettings) -> TextEnv:
    return make_text_env(settings.env, dict(settings.env_config))


def _play(
    env: TextEnv, tasks: Sequence[Task], settings: WarmStartSettings
) -> ExpertPlay:
    return play_expert(
        env,
        tasks,
        seed=settings.seed,
        noise=settings.noise,
        carelessness=settings.carelessness,
    )


def _split_tasks(
    env: TextEnv, settings: WarmStartSettings
) -> tuple[Sequence[Task], Sequence[Task]]:
    """Training tasks to demonstrate, and training tasks to check on.

    The first ones are demonstrated and the last ones are checked, so that the two are
    apart where there are enough tasks. Evaluation tasks are never touched.
    """
    tasks = env.tasks(env.splits[0])
    num_checks = min(settings.num_check_tasks, len(tasks))
    stride = max(1, len(tasks) // num_checks)
    checks = tasks[stride - 1 :: stride][:num_checks]
    excluded = {task.id for task in checks} if len(tasks) > 2 * num_checks else set()
    demonstrated = []
    for task in tasks:
        if len(demonstrated) == settings.num_episodes:
            break
        if task.id not in excluded:
            demonstrated.append(task)
    return demonstrated, checks


def _fit(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    env: TextEnv,
    steps: Sequence[Demonstration],
    check_tasks: Sequence[Task],
    settings: WarmStartSettings,
    folder: Path,
) -> WarmStartReport:
    renderer = PromptRenderer(
        tokenizer, settings.max_prompt_tokens, (tokenizer.eos_token_id,)
    )
    rows = encode(
        steps,
        env.prompt,
        renderer,
        lambda text: (
            tokenizer(text, add_special_tokens=False)["input_ids"]
            + [tokenizer.eos_token_id]
        ),
    )
    limits = RolloutSettings(
        max_prompt_tokens=settings.max_prompt_tokens,
        max_response_tokens=settings.max_response_tokens,
    )
    successes: list[float] = [0.0]

    def is_enough(num_steps: int) -> bool:
        success = measure_success(
            model,
            lambda: _make_env(settings),
            check_tasks,
            renderer,
            limits,
            seed=settings.seed,
        )
        logger.info("step %d: solves %.1f %%", num_steps, 100 * success)
        successes.append(success)
        return success >= settings.target_success

    result = fit(
        model,
        rows,
        FitSettings(
            max_steps=settings.max_steps,
            tokens_per_step=settings.tokens_per_step,
            lr=settings.lr,
            matrix_lr=settings.matrix_lr,
            check_every=settings.check_every,
        ),
        seed=settings.seed,
        is_enough=is_enough,
    )
    if successes[-1] < settings.target_success:
        logger.warning(
            "after %d steps the model solves %.1f %%, not %.1f %%; raise max_steps or "
            "num_episodes",
            result.num_steps,
            100 * successes[-1],
            100 * settings.target_success,
        )
    return WarmStartReport(
        folder=folder,
        success=successes[-1],
        num_steps=result.num_steps,
        loss=result.loss,
        seconds=0.0,
    )


def _fingerprint(
    env: TextEnv, tasks: Sequence[Task], settings: WarmStartSettings
) -> dict[str, str]:
    """The settings, and a digest of what the expert says and is told on some tasks.

    The digest changes with the environment's texts, prompt and expert.
    """
    probe = _play(env, tasks[:_NUM_PROBE_EPISODES], settings)
    said = json.dumps(list(conversations(probe.steps, env.prompt)))
    return {
        "settings": settings.digest(),
        "demonstrations": hashlib.blake2b(said.encode(), digest_size=16).hexdigest(),
    }


def _write_report(
    folder: Path, report: WarmStartReport, fingerprint: dict[str, str]
) -> None:
    figures = {
        name: getattr(report, name)
        for name in ("success", "num_steps", "loss", "seconds")
    }
    text = json.dumps({"fingerprint": fingerprint, **figures}, indent=2)
    (folder / REPORT_FILE).write_text(text + "\n")


def _read_report(folder: Path, fingerprint: dict[str, str]) -> WarmStartReport | None:
    """The report of a model made the same way; None if there is none, or an old one.

    Raises:
        ConfigError: The folder holds something that no warm start has made.
    """
    file = folder / REPORT_FILE
    if not file.is_file():
        if folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not empty and holds no warm-started model; choose "
                "another folder"
            )
        return None
    saved = json.loads(file.read_text())
    if saved["fingerprint"] != fingerprint:
        logger.info("%s is of other settings or texts: making it anew", folder)
        return None
    return WarmStartReport(
        folder=folder,
        success=saved["success"],
        num_steps=saved["num_steps"],
        loss=saved["loss"],
        seconds=0.0,
    )

"""``rllib-gigpo export``: the model of a checkpoint as a plain Hugging Face folder."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from rllib_gigpo.errors import CheckpointError, ConfigError

# RLlib's own files beside the model's.
NOT_THE_MODEL = frozenset(
    {
        "class_and_ctor_args.pkl",
        "metadata.json",
        "module_state.pkl",
        "module_state.msgpack",
        "rllib_checkpoint.json",
    }
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "export", help="write a checkpoint's model as a Hugging Face folder"
    )
    parser.add_argument(
        "checkpoint", type=Path, help="a checkpoint, or the folder of a trial"
    )
    parser.add_argument("folder", type=Path, help="where to; must not exist yet")


def run(arguments: argparse.Namespace) -> int:
    """Copy the model out, load it once to be sure, and only then name the folder.

    Raises:
        CheckpointError: There is no checkpoint, or its model does not load.
        ConfigError: The target exists.
    """
    from rllib_gigpo.checkpoints import atomic_folder
    from rllib_gigpo.cli.evaluate import find_checkpoint

    source = model_folder(find_checkpoint(arguments.checkpoint))
    target = arguments.folder.resolve()
    if target.exists():
        raise ConfigError(f"{target} exists: name a folder that does not, or remove it")
    with atomic_folder(target) as aside:
        copy_model(source, aside)
        num_parameters = check_loads(aside)
    print(f"{target}: {num_parameters:,} parameters, loads with transformers")
    return 0


def model_folder(checkpoint: Path) -> Path:
    """The Hugging Face folder inside a checkpoint.

    Raises:
        CheckpointError: The checkpoint holds none.
    """
    from rllib_gigpo.checkpoints import MODULE_FOLDER

    folder = checkpoint / MODULE_FOLDER
    if not (folder / "config.json").is_file():
        raise CheckpointError(
            f"{checkpoint} holds no language model (no {MODULE_FOLDER}/config.json): "
            "only checkpoints of GiGPO and its presets can be exported"
        )
    return folder


def copy_model(source: Path, target: Path) -> None:
    """Copy the model's files, without RLlib's."""
    for file in sorted(source.iterdir()):
        if file.is_file() and file.name not in NOT_THE_MODEL:
            shutil.copy2(file, target / file.name)


def check_loads(folder: Path) -> int:
    """Load model and tokenizer as a user would; returns the number of parameters.

    Raises:
        CheckpointError: They do not load, or weights are missing. transformers fills
            missing weights with random numbers and only warns.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        AutoTokenizer.from_pretrained(folder)
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, dtype="auto", output_loading_info=True
        )
    except (OSError, ValueError) as error:
        raise CheckpointError(f"the checkpoint's model does not load: {error}") from (
            error
        )
    wrong = {
        kind: sorted(map(str, report[kind]))
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")
        if report[kind]
    }
    if wrong:
        raise CheckpointError(f"the checkpoint's weights do not fit its model: {wrong}")
    return sum(parameter.numel() for parameter in model.parameters())

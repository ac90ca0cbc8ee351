"""Who may import whom, read off the source and tried in fresh interpreters."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# What a part of the code must not import, wherever in its files the import stands;
# the modules after it are let off, each for a kind of data or engine that needs more.
FORBIDDEN: dict[str, tuple[set[str], set[str]]] = {
    "environments": ({"torch", "ray", "rllib_gigpo", "transformers", "vllm"}, set()),
    "rllib_gigpo.credit": ({"torch", "ray", "transformers", "environments"}, set()),
    "rllib_gigpo.learning.losses": ({"ray", "transformers", "environments"}, set()),
    "rllib_gigpo.learning": (
        {"vllm", "environments", "rllib_gigpo.rollout", "rllib_gigpo.inference"},
        set(),
    ),
    "rllib_gigpo.modules": (
        {"vllm", "environments", "rllib_gigpo.rollout", "rllib_gigpo.learning"},
        set(),
    ),
    "rllib_gigpo.inference": (
        {"ray.rllib", "environments", "rllib_gigpo.rollout", "rllib_gigpo.learning"},
        set(),
    ),
    "rllib_gigpo": (
        {"vllm"},
        {
            "rllib_gigpo.inference.vllm_engine",
            "rllib_gigpo.weight_sync.ipc",
            "rllib_gigpo.weight_sync.nccl",
        },
    ),
}

# All that a part needs beside the standard library and this repository.
NEEDED = {
    "rllib_gigpo.credit": {"numpy"},
    "rllib_gigpo.learning.losses": {"numpy", "torch"},
}

# Parts that work where neither Ray nor vLLM is installed.
WITHOUT_RAY_AND_VLLM = [
    "rllib_gigpo.credit",
    "rllib_gigpo.learning.losses",
    "rllib_gigpo.learning.update",
    "rllib_gigpo.learning.schedule",
    "rllib_gigpo.modules.token_logprobs",
    "rllib_gigpo.modules.model_folder",
    "rllib_gigpo.inference.transformers_engine",
    "rllib_gigpo.inference.vllm_engine",
    "rllib_gigpo.weight_sync.base",
]

# Nobody but the entry points imports these.
TOP = {"rllib_gigpo.algorithms", "rllib_gigpo.cli"}
MAY_IMPORT_TOP = ("rllib_gigpo.algorithms", "rllib_gigpo.cli")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """``importer`` imports ``imported`` (a module or a name in one) at a line."""

    importer: str
    imported: str
    line: int
    is_for_types: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def is_within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def imports_of(file: Path) -> Iterator[Import]:
    """Every import of a file, those inside functions included."""
    module = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)
    module = module.removesuffix(".__init__")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} is a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(
                importer=module,
                imported=name,
                line=node.lineno,
                is_for_types=id(node) in for_types,
            )


IMPORTS = [
    found
    for package in ("environments", "rllib_gigpo")
    for file in sorted((REPOSITORY / package).rglob("*.py"))
    for found in imports_of(file)
]


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_imports_nothing_that_it_must_not(part: str) -> None:
    forbidden, exempt = FORBIDDEN[part]
    own = [found for found in IMPORTS if is_within(found.importer, part)]
    assert own, f"there is no {part}"
    broken = [
        str(found)
        for found in own
        if found.importer not in exempt
        and not found.is_for_types
        and any(is_within(found.imported, name) for name in forbidden)
    ]
    assert not broken


@pytest.mark.parametrize("part", NEEDED)
def test_a_part_needs_no_more_than_it_says(part: str) -> None:
    needed = {
        found.imported.partition(".")[0]
        for found in IMPORTS
        if is_within(found.importer, part)
    }
    own = {"rllib_gigpo", "environments"}
    assert needed - own - sys.stdlib_module_names == NEEDED[part]


def test_only_entry_points_import_algorithms_and_the_command_line() -> None:
    broken = [
        str(found)
        for found in IMPORTS
        if any(is_within(found.imported, top) for top in TOP)
        and not any(is_within(found.importer, part) for part in MAY_IMPORT_TOP)
        # The package itself registers its algorithms and names them.
        and found.importer != "rllib_gigpo"
        and not found.is_for_types
    ]
    assert not broken


def test_algorithms_do_not_import_the_command_line() -> None:
    assert not [
        str(found)
        for found in IMPORTS
        if is_within(found.importer, "rllib_gigpo.algorithms")
        and is_within(found.imported, "rllib_gigpo.cli")
    ]


def run(code: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert result.returncode == 0, result.stderr


def test_the_learning_core_loads_where_neither_ray_nor_vllm_is_installed() -> None:
    # None in sys.modules makes a module look as if it were not there.
    imports = "\n".join(f"import {module}" for module in WITHOUT_RAY_AND_VLLM)
    run(f"import sys\nsys.modules['ray'] = sys.modules['vllm'] = None\n{imports}")


def test_importing_environments_loads_neither_torch_nor_ray() -> None:
    run(
        "import sys, environments, environments.alfworld.env, environments.search.env\n"
        "loaded = {'torch', 'ray', 'transformers', 'rllib_gigpo'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )


def test_a_forbidden_import_is_found(tmp_path: Path, monkeypatch) -> None:
    """The reader itself: inside functions, of submodules, and not those for types."""
    (tmp_path / "part").mkdir()
    file = tmp_path / "part" / "__init__.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import ray\n"
        "def f():\n    from torch.nn import functional\n"
    )
    monkeypatch.setattr(f"{__name__}.REPOSITORY", tmp_path)
    found = {(i.importer, i.imported, i.is_for_types) for i in imports_of(file)}
    assert ("part", "ray", True) in found
    assert ("part", "torch.nn.functional", False) in found

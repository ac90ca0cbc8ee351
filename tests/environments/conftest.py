from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.shared_data import shared_file


@pytest.fixture(scope="session")
def textworld_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for TextWorld games, since each takes seconds to make."""
    return tmp_path_factory.mktemp("textworld")


@pytest.fixture(scope="session")
def official_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``json_2.1.1`` with every official game of train and valid_seen."""
    archive = shared_file("data/alfworld/json_2.1.1-train-valid_seen.tar.xz")
    folder = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith("game.tw-pddl"):
                tar.extract(member, folder, filter="data")
    return folder / "json_2.1.1"


@pytest.fixture(scope="session")
def webshop_folder() -> Path:
    """The folder of WebShop's official files of 1,000 products."""
    shared_file("data/webshop/items_ins_v2_1000.json")
    return shared_file("data/webshop/items_shuffle_1000.json.xz").parent

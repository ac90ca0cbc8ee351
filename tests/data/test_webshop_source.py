"""Putting WebShop's catalog where the environment looks for it."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from environments.webshop.catalog import folder_for_download
from environments.webshop.env import WebShopEnv
from rllib_gigpo.data import webshop
from rllib_gigpo.data.sources import SOURCES
from rllib_gigpo.errors import DownloadError
from tests.shared_data import shared_file


def _downloads(folder: Path) -> list[Path]:
    """The official files under the names that a download gives them."""
    folder.mkdir()
    products, attributes = (folder / file.name for file in webshop.FILES)
    packed = shared_file("data/webshop/items_shuffle_1000.json.xz")
    products.write_bytes(lzma.decompress(packed.read_bytes()))
    shutil.copy(shared_file("data/webshop/items_ins_v2_1000.json"), attributes)
    return [products, attributes]


def test_the_catalog_is_found_where_it_was_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLLIB_GIGPO_DATA", str(tmp_path / "data"))
    source = SOURCES["webshop"]
    folder = source.default_folder()
    assert folder == folder_for_download() == tmp_path / "data" / "webshop"
    assert not source.is_installed(folder)
    assert source.install(_downloads(tmp_path / "files"), folder) == "6910 goals"
    assert source.is_installed(folder)
    env = WebShopEnv(world="official", tagger="words")
    assert [len(env.tasks(split)) for split in ("train", "eval")] == [6410, 500]


def test_something_else_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    files = [tmp_path / file.name for file in webshop.FILES]
    for contents, message in (
        (("[]", "{}"), "0 goals"),
        (("{", "{}"), "no whole JSON"),
    ):
        for file, text in zip(files, contents, strict=True):
            file.write_text(text)
        with pytest.raises(DownloadError, match=message):
            webshop.install(files, tmp_path / "folder")
        assert not (tmp_path / "folder").exists()


def test_the_downloads_are_named_as_the_catalog_expects() -> None:
    names = [file.name for file in webshop.FILES]
    assert names == ["items_shuffle_1000.json", "items_ins_v2_1000.json"]

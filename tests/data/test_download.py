"""A download is whole and as expected, or not there; what came is never lost."""

from __future__ import annotations

import hashlib
import random

import pytest

from rllib_gigpo.data.download import RemoteFile, download
from rllib_gigpo.errors import DownloadError
from tests.data.file_server import file_server

CONTENT = random.Random(0).randbytes(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    with file_server() as running:
        running.files["/games.zip"] = CONTENT
        yield running


@pytest.fixture
def file(server):
    return RemoteFile(url=server.url("/games.zip"), size=len(CONTENT), sha256=SHA256)


def test_a_file_comes_whole_and_is_not_fetched_twice(server, file, tmp_path) -> None:
    path = download(file, tmp_path / "new")
    assert (path.name, path.read_bytes()) == ("games.zip", CONTENT)
    assert download(file, tmp_path / "new") == path
    assert server.starts == [0]


def test_a_cut_download_goes_on_where_it_ended(server, file, tmp_path) -> None:
    server.cut_after = [300_000, 200_000]
    path = download(file, tmp_path, first_wait_s=0)
    assert path.read_bytes() == CONTENT
    assert server.starts == [0, 300_000, 500_000]
    assert [p.name for p in tmp_path.iterdir()] == ["games.zip"]


def test_what_came_before_giving_up_is_used_by_the_next_run(
    server, file, tmp_path
) -> None:
    server.cut_after = [300_000] + [0] * 5
    with pytest.raises(DownloadError, match="300,000 bytes are kept, so run"):
        download(file, tmp_path, first_wait_s=0)
    assert not (tmp_path / "games.zip").exists()
    server.starts.clear()
    assert download(file, tmp_path).read_bytes() == CONTENT
    assert server.starts == [300_000]


def test_a_server_without_ranges_is_asked_for_all_of_it(server, file, tmp_path) -> None:
    server.honours_ranges = False
    server.cut_after = [300_000]
    assert download(file, tmp_path, first_wait_s=0).read_bytes() == CONTENT


def test_a_part_of_a_longer_version_is_thrown_away(server, file, tmp_path) -> None:
    (tmp_path / "games.zip.part").write_bytes(CONTENT + b"more")
    unsized = RemoteFile(url=file.url, sha256=SHA256)
    assert download(unsized, tmp_path, first_wait_s=0).read_bytes() == CONTENT


def test_a_part_that_is_whole_needs_no_request(server, file, tmp_path) -> None:
    (tmp_path / "games.zip.part").write_bytes(CONTENT)
    assert download(file, tmp_path).read_bytes() == CONTENT
    assert server.starts == []


def test_a_wrong_checksum_is_refused_and_leaves_nothing(server, file, tmp_path) -> None:
    server.files["/games.zip"] = CONTENT[:-1] + b"x"
    with pytest.raises(DownloadError, match=f"instead of sha256 {SHA256}"):
        download(file, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_size_is_refused_and_leaves_nothing(server, file, tmp_path) -> None:
    server.files["/games.zip"] = b"<html>please log in</html>"
    with pytest.raises(DownloadError, match=r"26 bytes instead of 1,000,000 bytes"):
        download(file, tmp_path, first_wait_s=0)
    assert list(tmp_path.iterdir()) == []


def test_a_spoilt_file_from_before_is_noticed(file, tmp_path) -> None:
    (tmp_path / "games.zip").write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(DownloadError, match="removed: try again"):
        download(file, tmp_path)
    assert download(file, tmp_path).read_bytes() == CONTENT


def test_a_file_that_is_gone_is_not_tried_again(server, tmp_path) -> None:
    missing = RemoteFile(url=server.url("/nothing.zip"))
    with pytest.raises(DownloadError, match=r"404.* by hand"):
        download(missing, tmp_path)


def test_a_server_that_is_not_there_is_given_up_with_advice(tmp_path) -> None:
    with file_server() as gone:
        url = gone.url("/games.zip")
    with pytest.raises(DownloadError, match="when the connection is better"):
        download(RemoteFile(url=url), tmp_path, first_wait_s=0)


def test_progress_ends_at_the_size(file, tmp_path) -> None:
    told = []
    download(file, tmp_path, progress=lambda done, size: told.append((done, size)))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)

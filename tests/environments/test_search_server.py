"""The retrieval server over a real socket, and the client that asks such servers.

The first tests speak to the server by the published protocol alone, with nothing but
the standard library.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from environments.errors import RetrievalError
from environments.search.embedded_world import world_retriever
from environments.search.http_client import HttpRetriever
from environments.search.retrieval import ScoredPassage

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra: serve")
pytest.importorskip("starlette", reason="needs the extra: serve")

from environments.search.server import ServerLimits, create_app  # noqa: E402

_LIMITS = ServerLimits(max_top_k=10, max_queries=4, max_body_bytes=2_000)


class _Spy:
    """The tiny world's retriever, with the size of each batch noted."""

    runs_inline = True

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []
        self.delay_s = 0.0

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        self.batch_sizes.append(len(queries))
        time.sleep(self.delay_s)
        if "explode" in queries:
            raise RuntimeError("exploded")
        return world_retriever("tiny").search(queries, top_k)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[int, _Spy]]:
    """The port of a running server, and its retriever."""
    spy = _Spy()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(spy, _LIMITS), log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1], spy
        server.should_exit = True
        thread.join()


def _post(port: int, body: bytes | object) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/retrieve", raw, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def test_several_queries_are_answered_in_order_with_scores(
    served: tuple[int, _Spy],
) -> None:
    names = [passage.title for passage in world_retriever("tiny").corpus[:3]]
    request = {"queries": names, "topk": 2, "return_scores": True}
    status, answer = _post(served[0], request)
    assert status == 200 and list(answer) == ["result"]
    for name, items in zip(names, answer["result"], strict=True):
        assert 1 <= len(items) <= 2
        assert set(items[0]) == {"document", "score"}
        assert set(items[0]["document"]) == {"id", "contents"}
        assert items[0]["document"]["contents"].startswith(f'"{name}"\n')
        scores = [item["score"] for item in items]
        assert scores == sorted(scores, reverse=True)


def test_without_scores_the_items_are_bare_documents(served: tuple[int, _Spy]) -> None:
    status, answer = _post(served[0], {"queries": ["town"]})
    assert status == 200
    (items,) = answer["result"]
    assert len(items) == 3, "three passages unless asked otherwise"
    assert all(set(item) == {"id", "contents"} for item in items)


def test_one_query_gives_an_outer_list_of_length_one(served: tuple[int, _Spy]) -> None:
    one = {"query": "town", "topk": None, "return_scores": True}
    many = {"queries": ["town"], "return_scores": True}
    assert _post(served[0], one) == _post(served[0], many)


def test_a_query_that_fits_nothing_gets_an_empty_list(served: tuple[int, _Spy]) -> None:
    request = {"queries": ["zebra", "", "\ud800"], "return_scores": True}
    assert _post(served[0], request) == (200, {"result": [[], [], []]})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff", 422),
        (b"[" * 1_900, 422),
        ([], 422),
        ({}, 422),
        ({"queries": "town"}, 422),
        ({"queries": []}, 422),
        ({"queries": [1]}, 422),
        ({"query": ["town"]}, 422),
        ({"query": "a", "queries": ["a"]}, 422),
        ({"query": "a", "topk": 0}, 422),
        ({"query": "a", "topk": "3"}, 422),
        ({"query": "a", "topk": True}, 422),
        ({"query": "a", "return_scores": 1}, 422),
        ({"query": "a", "topk": 11}, 413),
        ({"queries": ["a"] * 5}, 413),
        ({"query": "a" * 2_000}, 413),
    ],
)
def test_bad_requests_are_refused_with_a_reason(
    served: tuple[int, _Spy], body: bytes | object, status: int
) -> None:
    found, answer = _post(served[0], body)
    assert found == status
    assert answer["detail"]


def test_an_endless_body_is_cut_off(served: tuple[int, _Spy]) -> None:
    head = b"POST /retrieve HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"400\r\n" + b"a" * 0x400 + b"\r\n"
    with socket.create_connection(("127.0.0.1", served[0]), timeout=10) as client:
        client.sendall(head + chunk * 4)
        assert b" 413 " in client.recv(4096)


def test_concurrent_requests_are_searched_together(served: tuple[int, _Spy]) -> None:
    port, spy = served
    spy.batch_sizes.clear()
    spy.delay_s = 0.2
    threads = [
        threading.Thread(target=_post, args=(port, {"query": f"town {number}"}))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spy.delay_s = 0.0
    assert sum(spy.batch_sizes) == 8
    assert len(spy.batch_sizes) <= 4, spy.batch_sizes


def test_a_failing_search_answers_500_and_the_server_goes_on(
    served: tuple[int, _Spy],
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served[0], timeout=10)
    connection.request("POST", "/retrieve", json.dumps({"query": "explode"}))
    assert connection.getresponse().status == 500
    connection.close()
    assert _post(served[0], {"query": "town"})[0] == 200


@pytest.mark.parametrize("protocol", ["batched", "single"])
def test_our_client_finds_what_the_retriever_finds(
    served: tuple[int, _Spy], protocol: str
) -> None:
    url = f"http://127.0.0.1:{served[0]}/retrieve"
    client = HttpRetriever(url, protocol=protocol)  # type: ignore[arg-type]
    queries = ["town", "Ada", "zebra", "glass river"]
    assert client.search(queries, 5) == world_retriever("tiny").search(queries, 5)
    assert client.search([], 5) == []


class _Flaky(BaseHTTPRequestHandler):
    """Answers with the statuses and bodies in ``script``, one after the other."""

    script: list[tuple[int, bytes]]
    bodies: list[Any]

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.bodies.append(json.loads(self.rfile.read(length)))
        status, body = self.script.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


_GOOD = json.dumps(
    {"result": [[{"document": {"id": 5, "contents": '"T"\nx'}, "score": 2}]]}
).encode()


@pytest.fixture
def flaky() -> Iterator[tuple[str, type[_Flaky]]]:
    handler = type("_Handler", (_Flaky,), {"script": [], "bodies": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/retrieve", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_busy_server_is_asked_again_after_growing_waits(
    flaky: tuple[str, type[_Flaky]],
) -> None:
    url, handler = flaky
    handler.script += [(503, b""), (500, b"oh"), (200, _GOOD)]
    waits: list[float] = []
    client = HttpRetriever(url, sleep=waits.append)
    ((hit,),) = client.search(["q"], 3)
    assert (hit.passage.id, hit.passage.text, hit.score) == ("5", "x", 2.0)
    assert waits == [1.0, 2.0]
    assert handler.bodies == [{"queries": ["q"], "topk": 3, "return_scores": True}] * 3


def test_the_next_server_is_asked_when_one_is_down(
    flaky: tuple[str, type[_Flaky]],
) -> None:
    url, handler = flaky
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{unused.getsockname()[1]}/retrieve"
        handler.script += [(200, _GOOD)]
        waits: list[float] = []
        client = HttpRetriever([down, url], sleep=waits.append)
        assert client.search(["q"], 1)[0][0].passage.id == "5"
        assert waits == [1.0]
        with pytest.raises(RetrievalError, match="after 3 tries"):
            HttpRetriever(down, num_tries=3, sleep=waits.append).search(["q"], 1)
    assert waits == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, b"", "404"),
        (422, b"{}", "422"),
        (200, b"<html>", "no JSON"),
        (200, b"[]", "protocol"),
        (200, b'{"result": [[{"id": "0"}]]}', "protocol"),
        (200, b'{"result": []}', "0 results for 1"),
    ],
)
def test_answers_against_the_protocol_are_no_reason_to_try_again(
    flaky: tuple[str, type[_Flaky]], status: int, body: bytes, reason: str
) -> None:
    url, handler = flaky
    handler.script.append((status, body))
    with pytest.raises(RetrievalError, match=reason):
        HttpRetriever(url, sleep=lambda _: pytest.fail("waited")).search(["q"], 1)


@pytest.mark.parametrize(
    "setting",
    [{"urls": []}, {"urls": "host:80"}, {"urls": "http://a", "num_tries": 0}],
)
def test_client_settings_out_of_range_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        HttpRetriever(**setting)

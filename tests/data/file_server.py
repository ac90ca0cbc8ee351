"""A web server in a thread that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serves ``files``, in ranges too.

    Attributes:
        files: Path to content.
        cut_after: Bytes after which each of the next answers breaks off, in turn.
        honours_ranges: Whether a range is sent when one is asked for.
        starts: The first byte that each request asked for.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.cut_after: list[int] = []
        self.honours_ranges = True
        self.starts: list[int] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self):
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.server.starts.append(start)
        if not self.server.honours_ranges:
            start = 0
        if start and start >= len(content):
            self.send_error(416)
            return
        rest = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            last = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
        self.end_headers()
        cut = self.server.cut_after.pop(0) if self.server.cut_after else len(rest)
        self.wfile.write(rest[:cut])

    def log_message(self, format, *args):
        pass


@contextmanager
def file_server() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(0.02,), daemon=True
        )
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

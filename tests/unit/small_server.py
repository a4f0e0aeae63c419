"""Scripted HTTP server on loopback: it returns what a test sets."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


class _SmallHttpServer(ThreadingHTTPServer):
    """A server that prints nothing of clients that have gone: the output belongs to the test that runs by then."""

    def handle_error(self, request: Any, client_address: Any) -> None:  # Any: as in the standard library
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


@dataclass
class SmallServer:
    """What it was asked, and what it answers: (method, path) to one answer, or several to be given in turn.

    An answer that is a function is called when it is its turn. ``headers`` come with every answer.
    """

    url: str = ""
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    requests: list[Asked] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, method: str, path: str, *bodies: Any, status: int = 200) -> None:
        self.answers[(method, path)] = (status, list(bodies))

    def take(self, request: Asked) -> tuple[int, Any]:
        self.requests.append(request)
        status, bodies = self.answers.get((request.method, request.path), (404, [{"code": 404, "message": "unknown"}]))
        body = bodies.pop(0) if len(bodies) > 1 else (bodies or [None])[0]
        return status, body() if callable(body) else body


@contextmanager
def listening(small: SmallServer) -> Iterator[None]:
    class Answering(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            parts = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(sent) if sent else None
            request = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), body, dict(self.headers))
            status, answer = small.take(request)
            payload = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            for name, value in small.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815  # the names the library calls

        def log_message(self, *_: object) -> None:
            pass

    http = _SmallHttpServer(("127.0.0.1", 0), Answering)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    small.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield
    finally:
        http.shutdown()
        thread.join()
        http.server_close()

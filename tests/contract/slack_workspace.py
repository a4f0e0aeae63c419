"""A workspace of Slack in a thread: who its members are, and what they are told in answer to a button."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode

from tests.waiting import until

from tocsin.delivery.channels.slack.interactions import Signed, signature_of

TEAM = "T0HOME"


def member(identity: str, email: str | None, **fields: Any) -> dict[str, Any]:
    """Return a member as ``users.info`` does."""
    return {"id": identity, "team_id": TEAM, "is_bot": False, "deleted": False, "profile": {"email": email}, **fields}


@dataclass
class SlackWorkspace:
    """A workspace at ``url``, for bots with ``token``; ``replies`` is what was posted to its response URLs.

    Its Web API answers while ``speaks`` is set.
    """

    token: str
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)
    replies: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    url: str = ""
    speaks: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.speaks.set()

    def join(self, identity: str, email: str | None, **fields: Any) -> str:
        """Add a member; return their id."""
        self.members[identity] = member(identity, email, **fields)
        return identity

    def answer(self, path: str, authorization: str | None, body: bytes) -> dict[str, Any]:
        """Return what Slack answers."""
        self.calls.append(path)
        if path == "/reply":
            self.replies.append(json.loads(body))
            return {"ok": True}
        self.speaks.wait()
        method = path.removeprefix("/api/")
        if fault := self.faults.get(method):
            return fault
        if authorization != f"Bearer {self.token}":
            return {"ok": False, "error": "invalid_auth"}
        if method == "auth.test":
            return {"ok": True, "team_id": TEAM, "enterprise_id": None}
        member = self.members.get(parse_qs(body.decode()).get("user", [""])[0])
        return {"ok": True, "user": member} if member else {"ok": False, "error": "user_not_found"}

    def next_told(self) -> str:
        """Return what the member who has pressed a button is told, and only they."""
        until(lambda: bool(self.replies))
        answer = self.replies.pop()
        assert (answer["response_type"], answer["replace_original"]) == ("ephemeral", False)
        return str(answer["text"])


def press(token: str, who: str, *, secret: str, at_s: int, response_url: str = "") -> tuple[bytes, dict[str, str]]:
    """Return body and headers of the request that Slack makes when somebody presses a button."""
    action = {"type": "button", "block_id": "b", "action_id": "acknowledge_1", "value": token}
    payload = {
        "type": "block_actions",
        "team": {"id": TEAM, "domain": "home"},
        "user": {"id": who, "username": who.lower(), "team_id": TEAM},
        "actions": [action],
        "response_url": response_url,
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()
    return body, signed_headers(body, secret=secret, at_s=at_s)


def signed_headers(body: bytes, *, secret: str, at_s: int) -> dict[str, str]:
    """Return the headers of a request that Slack has signed at that time."""
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": str(at_s),
        "X-Slack-Signature": signature_of(Signed(body, str(at_s), ""), secret),
    }


@contextmanager
def running_workspace(token: str) -> Iterator[SlackWorkspace]:
    """Run a workspace until the block ends."""
    workspace = SlackWorkspace(token)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = json.dumps(workspace.answer(self.path, self.headers.get("Authorization"), body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    workspace.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield workspace
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)

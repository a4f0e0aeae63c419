"""Tests of ``tocsin deliveries``: lists, single messages, replays that are followed or cancelled."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

PATH = "/api/v1/events/deliveries"
LETTER = {
    "id": "m1",
    "alert": {"id": "a1", "name": "Hooks"},
    "destination": {"id": "d1", "category": "External", "type": "Webhook"},
    "recipient": "https://hooks.example.org/*********",
    "status": "retryLimitReached",
    "isDeadLetter": True,
    "reason": "serverError",
    "statusCode": 500,
    "attemptCount": 4,
    "createdAt": 1_700_000_000_000,
    "updatedAt": 1_700_000_000_000,
    "notificationCount": 7,
    "events": [{"id": "e1", "offset": 1, "title": "orders: column id removed"}],
}
WHOLE = {
    **LETTER,
    "attempts": [
        {"number": 4, "startedAt": 1_700_000_000_000, "reason": "serverError", "statusCode": 500, "detail": "no"}
    ],
    "requests": [{"method": "POST", "address": "https://x/*********", "headers": {"webhook-id": "m1"}, "body": "{…}"}],
}


def progress(total: int, delivered: int, failed: int = 0, taken_back: int = 0) -> dict[str, int]:
    waiting = total - delivered - failed - taken_back
    return {"total": total, "waiting": waiting, "delivered": delivered, "failed": failed, "takenBack": taken_back}


SENDING = {"id": "r1", "state": "sending", "progress": progress(3, 1)}
DONE = {"id": "r1", "state": "done", "progress": progress(3, 2, 1)}


def test_dead_letters_are_listed_with_their_reasons(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", PATH, {"data": [LETTER], "paging": {}})
    ended = run("deliveries", "list", "--alert", "Hooks", "--reason", "serverError", "--since", "7d")
    assert ended.code == 0, ended.err
    output = " ".join(ended.out.split())
    for part in ("m1", "2023-11-14 22:13:20", "Hooks", "serverError", "500", "orders:"):
        assert part in output
    assert small_server.requests[-1].query == {"alert": "Hooks", "reason": "serverError", "since": "7d", "limit": "100"}
    assert json.loads(run("deliveries", "list", "--json").out) == [LETTER]
    deleted = LETTER | {"alert": {"id": "a1", "name": "Hooks", "deleted": True}}
    small_server.answer("GET", PATH, {"data": [deleted], "paging": {}})
    assert "(deleted)" in run("deliveries", "list").out


def test_one_is_shown_with_its_request_and_answers(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{PATH}/m1", WHOLE)
    output = run("deliveries", "show", "m1").out
    for part in ("retryLimitReached", "attempt 4", "answer: no", "POST https://x/*********", "webhook-id: m1", "{…}"):
        assert part in output
    assert "6 more notifications" in output
    hidden = {**WHOLE, "requests": [], "requestsNote": "Not shown: you may not view all of its events."}
    small_server.answer("GET", f"{PATH}/m1", hidden)
    assert "you may not view all" in run("deliveries", "show", "m1").out


def test_a_replay_is_followed_to_its_end(run: Run, small_server: SmallServer) -> None:
    small_server.answer("POST", f"{PATH}/replays", SENDING, status=202)
    small_server.answer("GET", f"{PATH}/replays/r1", SENDING, DONE)
    result = run("deliveries", "replay", "--alert", "Hooks", "--since", "6h")
    assert small_server.requests[0].body == {"alert": "Hooks", "since": "6h"}
    assert result.out == "Replay r1 (done): 3 messages: 2 delivered, 1 failed. tocsin deliveries list says why.\n"
    assert result.code == 1, "a script has to notice"
    small_server.answer("GET", f"{PATH}/m1", WHOLE)
    small_server.answer("POST", f"{PATH}/replays", DONE | {"progress": progress(1, 0, 1)}, status=202)
    says = "Replay r1 (done): 1 message: 0 delivered, 1 failed. It failed because of serverError 500.\n"
    assert run("deliveries", "replay", "m1").out == says
    small_server.answer("POST", f"{PATH}/replays", DONE, status=202)
    assert json.loads(run("deliveries", "replay", "m1", "--delivered", "--json").out) == DONE
    assert small_server.requests[-1].body == {"message": "m1", "delivered": True}
    small_server.answer("POST", f"{PATH}/replays", SENDING, status=202)
    waiting = run("deliveries", "replay", "m1", "--no-wait")
    assert (waiting.code, "2 waiting" in waiting.out) == (0, True)
    nothing = {"id": "r1", "state": "done", "progress": progress(0, 0)}
    small_server.answer("POST", f"{PATH}/replays", nothing, status=202)
    none = run("deliveries", "replay", "--since", "1d")
    assert (none.code, none.out) == (0, "Nothing to replay.\n")


def test_what_is_not_said_is_not_replayed(run: Run, small_server: SmallServer) -> None:
    for arguments in ((), ("m1", "--since", "1d"), ("--delivered",)):
        assert run("deliveries", "replay", *arguments).code == 2
    assert small_server.requests == []


def test_breaking_off_cancels_the_replay(run: Run, small_server: SmallServer) -> None:
    def interrupt() -> dict[str, Any]:
        signal.raise_signal(signal.SIGINT)  # Ctrl-C, which reaches the main thread
        return SENDING

    small_server.answer("POST", f"{PATH}/replays", SENDING, status=202)
    small_server.answer("GET", f"{PATH}/replays/r1", interrupt)
    cancelled = {"id": "r1", "state": "cancelled", "progress": progress(3, 1, 0, 2)}
    small_server.answer("DELETE", f"{PATH}/replays/r1", cancelled)
    ended = run("deliveries", "replay", "--since", "6h")
    assert ended.code == 130
    assert "1 delivered, 0 failed, 2 not sent" in ended.err

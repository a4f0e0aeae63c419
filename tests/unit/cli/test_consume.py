"""Tests of ``tocsin events consume``: commands, their exit codes, positions, and texts that look like code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer
from tests.waiting import until

from tocsin.client.consume import loop

EVENTS = "/api/v1/events"
HOSTILE = "'; touch hacked; $(touch hacked) `touch hacked` \"\n\\ {{x}} %s"


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(loop, "LONGEST_WAIT_S", 0.0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def event(number: int, entity_type: str = "table", **fields: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "entityType": entity_type, "timestamp": number, **fields}


def page(end: int, *events: dict[str, Any]) -> dict[str, Any]:
    return {"data": list(events), "paging": {"offset": end}}


def program(tmp_path: Path, text: str) -> str:
    """Return a command that runs a Python program."""
    path = tmp_path / "program.py"
    path.write_text(f"import json, os, pathlib, sys\nevents = json.load(sys.stdin)\n{text}\n")
    return f"{sys.executable} {path}"


def offset_of(tmp_path: Path, name: str) -> int:
    path = tmp_path / "tocsin" / "positions" / f"{name}.json"
    return int(json.loads(path.read_text())["offset"])


def test_without_a_command_events_are_printed_as_lines(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", EVENTS, page(2, event(1), event(2)), page(2))
    ended = run("events", "consume", "--from", "start", "--once")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert [(one["id"], one["idempotencyKey"]) for one in lines] == [("e1", "e1"), ("e2", "e2")]


@pytest.mark.parametrize("options", [(), ("--exec",)])
def test_half_of_a_surrogate_pair_stops_nothing(
    run: Run, small_server: SmallServer, tmp_path: Path, options: tuple[str, ...]
) -> None:
    small_server.answer("GET", EVENTS, page(1, event(1, entityFullyQualifiedName="a\ud800\u009b\u2028")), page(1))
    command = (program(tmp_path, "assert events[0]['entityFullyQualifiedName'] == 'a\\ud800\\u009b\\u2028'"),)
    ended = run("events", "consume", "--from", "start", "--once", "--retries", "0", *options, *command[: len(options)])
    assert (ended.code, ended.err) == (0, "")
    assert options or ended.out.isascii()


def test_a_command_gets_each_batch_and_its_position_survives(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    small_server.answer("GET", EVENTS, page(3, event(1), event(2, "topic"), event(3)), page(3))
    write = "row = [os.environ['BATCH_ENTITY_TYPE'], os.environ['BATCH_EVENT_COUNT'], [e['id'] for e in events]]"
    command = program(tmp_path, f"{write}\nopen('got', 'a').write(json.dumps(row) + '\\n')")
    options = ("--position", "mine", "--from", "start", "--once", "--group-by", "entityType", "--exec", command)
    assert run("events", "consume", *options).code == 0
    batches = [json.loads(line) for line in (tmp_path / "got").read_text().splitlines()]
    assert batches == [["table", "2", ["e1", "e3"]], ["topic", "1", ["e2"]]]
    assert offset_of(tmp_path, "mine") == 3
    small_server.answer("GET", EVENTS, page(3))
    assert run("events", "consume", *options).code == 0
    assert small_server.requests[-1].query["offset"] == "3"


def test_a_command_that_fails_gets_the_batch_again_and_the_user_is_told(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    small_server.answer("GET", EVENTS, page(1, event(1)), page(1))
    command = program(
        tmp_path, "path = pathlib.Path('tried')\nif not path.exists():\n    path.touch()\n    sys.exit(3)"
    )
    ended = run("events", "consume", "--position", "mine", "--from", "start", "--once", "--exec", command)
    assert ended.code == 0
    assert f"{sys.executable} ended with exit code 3; again in 0 s." in ended.err
    assert offset_of(tmp_path, "mine") == 1


def test_retries_end_and_leave_the_position(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    small_server.answer("GET", EVENTS, page(1, event(1)), page(1))
    command = program(tmp_path, "sys.exit(3)")
    options = ("--position", "mine", "--from", "start", "--once", "--retries", "1", "--exec", command)
    ended = run("events", "consume", *options)
    assert (ended.code, ended.err.count("exit code 3")) == (6, 2)
    assert offset_of(tmp_path, "mine") == 0


def test_no_text_of_an_event_becomes_code(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    hostile = event(1, entity_type=HOSTILE, entityFullyQualifiedName=HOSTILE)
    small_server.answer("GET", EVENTS, page(1, hostile), page(1))
    write = "open('got', 'w').write(json.dumps([events, os.environ['BATCH_ENTITY_TYPE'], sys.argv[1:]]))"
    command = f"{program(tmp_path, write)} $(touch hacked) ';' touch hacked"
    options = ("--from", "start", "--once", "--group-by", "entityType", "--exec", command)
    assert run("events", "consume", *options).code == 0
    events, entity_type, words = json.loads((tmp_path / "got").read_text())
    assert (events[0]["entityFullyQualifiedName"], entity_type) == (HOSTILE, "")
    assert words == ["$(touch", "hacked)", ";", "touch", "hacked"]
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("is_stubborn", [False, True])
def test_sigterm_ends_the_command_and_keeps_the_position(
    small_server: SmallServer, tmp_path: Path, *, is_stubborn: bool
) -> None:
    small_server.answer("GET", EVENTS, page(1, event(1)))
    ignore = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if is_stubborn else ""
    began = "pathlib.Path('pid').write_text(str(os.getpid()))\npathlib.Path('began').touch()"
    command = program(tmp_path, f"import time\n{ignore}{began}\ntime.sleep(60)")
    words = ("-m", "tocsin", "events", "consume", "--position", "mine", "--from", "start", "--exec", command)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        "TOCSIN_SERVER": small_server.url,
        "TOCSIN_TOKEN": "t",
        "XDG_STATE_HOME": str(tmp_path),
    }
    with subprocess.Popen([sys.executable, *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as process:
        until((tmp_path / "began").exists, within_s=30)
        process.send_signal(signal.SIGTERM)
        if is_stubborn:  # the second time it is killed
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert (process.returncode, b"Traceback" in errors) == (130, False), errors
    assert offset_of(tmp_path, "mine") == 0


WRONG = {
    "two sources": (("--queue", "Words", "--position", "x"), "different sources"),
    "half of Kafka": (("--kafka-group", "g"), "--kafka-group needs --kafka-servers"),
    "no group": (("--kafka-servers", "a:1"), "needs --kafka-group"),
    "an empty group": (("--kafka-servers", "a:1", "--kafka-group", ""), "name of a consumer group"),
    "a lease without a queue": (("--seconds", "9"), "--seconds needs --queue"),
    "no start": (("--from", "later"), "must be now, start or an offset"),
    "no program": (("--exec", "no-such-program x"), "no program 'no-such-program'"),
    "open quote": (("--exec", "'a"), "cannot be read"),
    "another grouping": (("--group-by", "day"), "must be entityType"),
    "a position with dots": (("--position", "..x"), "letters, digits"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused(run: Run, small_server: SmallServer, case: str) -> None:
    options, message = WRONG[case]
    ended = run("events", "consume", "--once", *options)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert small_server.requests == []

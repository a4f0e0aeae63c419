"""Tests of ``tocsin templates preview``: what a template makes of an event, and errors with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

RENDER = "/api/v1/notificationTemplates/render"
GOOD: dict[str, Any] = {"isValid": True, "subjectError": None, "bodyError": None}
TEMPLATE = "templateSubject: '{{headline}}'\ntemplateBody: |\n  <p>[bold]{{link}}</p>\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "columns.yaml"
    path.write_text(TEMPLATE)
    return str(path)


def test_subject_and_body_are_shown(run: Run, small_server: SmallServer, file: str) -> None:
    rendered = {"subject": "orders: created", "body": "<p>[bold]https://t.example</p>"}
    small_server.answer("POST", RENDER, {"validation": GOOD, "render": rendered})
    ended = run("templates", "preview", file)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == ["subject", "orders: created", "body", "<p>[bold]https://t.example</p>"]
    assert small_server.requests[-1].body == {
        "templateSubject": "{{headline}}",
        "templateBody": "<p>[bold]{{link}}</p>\n",
        "resource": "table",
    }


def test_the_message_of_a_channel_is_shown_as_it_is_sent(run: Run, small_server: SmallServer, file: str) -> None:
    message = {"text": "orders", "blocks": []}
    answer = {"validation": GOOD, "render": {"subject": "x", "body": "y"}, "message": message}
    small_server.answer("POST", RENDER, answer)
    ended = run("templates", "preview", file, "--event", "e1", "--channel", "Slack")
    assert json.loads(ended.out) == message
    assert small_server.requests[-1].body["eventId"] == "e1"
    assert small_server.requests[-1].body["channel"] == "Slack"
    assert "resource" not in small_server.requests[-1].body
    assert json.loads(run("templates", "preview", file, "--json").out) == answer


def test_an_invalid_template_ends_with_its_error(run: Run, small_server: SmallServer, file: str) -> None:
    bad = {"isValid": False, "subjectError": None, "bodyError": "Line 1, column 1: this tag is empty"}
    small_server.answer("POST", RENDER, {"validation": bad})
    ended = run("templates", "preview", file)
    assert ended.code == 2
    assert "columns.yaml: templateBody: Line 1, column 1: this tag is empty" in " ".join(ended.err.split())


@pytest.mark.parametrize(
    "text", ["", "[]", "templateSubject: x", "templateSubject: x\ntemplateBody: 7", f"{TEMPLATE}---\n{TEMPLATE}"]
)
def test_a_file_that_is_no_template_is_refused(run: Run, small_server: SmallServer, file: str, text: str) -> None:
    Path(file).write_text(text)
    ended = run("templates", "preview", file)
    assert ended.code == 2
    assert "must be one template" in " ".join(ended.err.split())
    assert small_server.requests == []

"""Golden messages of every kind of event on every channel; ``WRITE_GOLDEN=1`` writes them anew.

Whoever changes one reads it and asks: what happened, to what, why me, how bad, what now?
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import CONTEXTS, DIGESTS, KINDS, OF_WHOLES, REMOVAL, digest_of, message_about
from tests.unit.delivery.events import OWNER, change_event, dispatch, update_of
from typer.main import get_command

from tocsin.cli.app import app_of
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import as_tocsin
from tocsin.model.change import CHANGE_REQUEST, EventType
from tocsin.model.subscription import Channel

GOLDEN = Path(__file__).parent / "golden/kinds"
_AROUND_COMMANDS = re.compile(r"; |: (?=tocsin)|, or | \(or |, then | shows why")


def bell(kind: str) -> dict[str, Any]:
    """Return what the bell says of an event."""
    text = event_text(KINDS[kind], (OWNER,))
    return {"title": text.headline, "changes": [line.sentence for line in text.lines], "why": text.why}


def mail(kind: str) -> dict[str, Any]:
    """Return the subject and text of a mail about an event; its HTML says the same, and has golden files of its own."""
    preview = PREVIEWS[Channel.EMAIL](message_about(kind, Channel.EMAIL), samples.HOME)
    return {"subject": preview["subject"], "text": preview["text"].splitlines()}


def chat(channel: Channel) -> Callable[[str], dict[str, Any]]:
    """Return what renders an event for a chat that an alert names."""
    return lambda kind: PREVIEWS[channel](message_about(kind, channel), samples.HOME)


def webhook(kind: str) -> dict[str, Any]:
    """Return the words that a webhook gets beside the event."""
    document = as_tocsin(KINDS[kind].as_wire())
    words = {"title": document["title"], "changes": document["changes"]}
    return words | {key: [one["text"] for one in document[key]] for key in ("semanticChanges", "breakingReasons")}


RENDERINGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "bell": bell,
    "mail": mail,
    "webhook": webhook,
    **{channel.value: chat(channel) for channel in (Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT)},
}


def test_what_recovers_failed_before_and_is_reported_afterwards() -> None:
    recoveries = {name: one for name, one in CONTEXTS.items() if one.ended_ms is not None}
    assert recoveries.keys() == {"recovered_test", "recovered_run", "recovered_ingestion"}
    for name, context in recoveries.items():
        assert (context.since_ms or 0) < (context.ended_ms or 0) <= KINDS[name].timestamp, name


@pytest.mark.parametrize("channel", PREVIEWS)
def test_no_text_of_a_change_request_is_markup(channel: Channel) -> None:
    line_break = "\r\nBcc: all@example.com \u202e"
    texts = dict.fromkeys(("column", "newValue", "why", "replacement"), samples.HOSTILE + line_break)
    request = REMOVAL | {"kind": "rename"} | texts
    for values in ((None, request), (request, request | {"status": "due"}), (request, request | {"openAnswers": 1})):
        event = change_event(update_of(CHANGE_REQUEST, *values), event_type=EventType.CHANGE_REQUEST_UPDATED)
        message = dispatch(event, reasons=(OWNER if channel is Channel.EMAIL else samples.REASON,))
        preview = PREVIEWS[channel](message, samples.HOME)
        assert "\r" not in preview.get("subject", "") + str(preview.get("headers", ""))
        text = preview["html"] if channel is Channel.EMAIL else json.dumps(preview, ensure_ascii=False)
        marks = (
            "<!channel>",
            "<users/all>",
            "<b>x</b>",
            "<at>all</at>",
            "<https://evil",
            'href="https://evil',
            "\u202e",
        )
        assert not [mark for mark in marks if mark in text]


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT])
def test_no_time_is_in_another_zone_than_the_readers(channel: Channel) -> None:
    messages = {name: message_about(name, channel) for name in KINDS}
    messages |= {name: digest_of(name, channel) for name in DIGESTS}
    in_tokyo = {name: replace(one, zone="Asia/Tokyo") for name, one in messages.items()}
    previews = {name: PREVIEWS[channel](one, samples.HOME) for name, one in in_tokyo.items()}
    assert [name for name, preview in previews.items() if "UTC" in json.dumps(preview, ensure_ascii=False)] == []


def test_there_are_forty_kinds() -> None:
    assert len(KINDS) >= 40


@pytest.mark.parametrize("name", RENDERINGS)
def test_messages_of_every_kind_are_as_they_were_read(name: str) -> None:
    render = RENDERINGS[name]
    samples.assert_golden({kind: render(kind) for kind in KINDS}, GOLDEN / f"{name}.json")


def test_a_card_of_google_chat_says_its_tone_once() -> None:
    cards = [PREVIEWS[Channel.G_CHAT](message_about(kind, Channel.G_CHAT), samples.HOME) for kind in KINDS]
    cards += [PREVIEWS[Channel.G_CHAT](digest_of(name, Channel.G_CHAT), samples.HOME) for name in DIGESTS]
    for card in cards:
        title = card["fallbackText"].casefold()
        words = [word for word in ("Failed", "Needs attention", "Well again") if f"<b>{word}</b></font>" in str(card)]
        assert not [word for word in words if word.casefold() in title], title


@pytest.mark.parametrize("name", [*DIGESTS, *OF_WHOLES])
def test_digests_are_as_they_were_read(name: str) -> None:
    channels = (Channel.EMAIL, Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT)
    digests = {one.value: PREVIEWS[one](digest_of(name, one), samples.HOME) for one in channels}
    mail_digest = digests[Channel.EMAIL.value]
    digests[Channel.EMAIL.value] = {
        "subject": mail_digest["subject"],
        "text": mail_digest["text"].splitlines(),
    }
    samples.assert_golden(digests, GOLDEN / f"digest_{name}.json")


@pytest.mark.parametrize("name", RENDERINGS)
def test_no_message_shows_json_or_the_markup_of_links(name: str) -> None:
    texts = samples.texts_of({kind: RENDERINGS[name](kind) for kind in KINDS})
    assert not [text for text in texts if '{"' in text or "#E::" in text or "changed by admin" in text]


def test_commands_that_messages_name_are_taken_by_the_command_line() -> None:
    lines = (line.text for event in KINDS.values() for line in event_text(event).lines)
    commands = {part for line in lines for part in _AROUND_COMMANDS.split(line) if part.startswith("tocsin ")}
    assert len(commands) >= 12
    for text in commands:
        _, *words = shlex.split(text.replace("DATE", "2030-01-01"))
        command: Any = get_command(app_of())  # Any: Click's classes, which Typer hides
        while words and hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context(text, words)  # ends with an error for what it does not take

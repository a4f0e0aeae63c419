"""Golden messages of every kind of event on every channel; ``WRITE_GOLDEN=1`` writes them anew.

Whoever changes one reads it and asks: what happened, to what, why me, how bad, what now?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import KINDS
from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.wording.changes import event_text
from tocsin.model.change import ChangeEvent
from tocsin.model.subscription import Channel

GOLDEN = Path(__file__).parent / "golden/kinds"


def bell(event: ChangeEvent) -> dict[str, Any]:
    """Return what the bell says of an event."""
    text = event_text(event, (OWNER,))
    return {"title": text.headline, "changes": [line.sentence for line in text.lines], "why": text.why}


def mail(event: ChangeEvent) -> dict[str, Any]:
    """Return the subject and text of a mail about an event; its HTML says the same, and has golden files of its own."""
    preview = PREVIEWS[Channel.EMAIL](dispatch(event, reasons=(OWNER,)), samples.HOME)
    return {"subject": preview["subject"], "text": preview["text"].splitlines()}


def chat(channel: Channel) -> Callable[[ChangeEvent], dict[str, Any]]:
    """Return what renders an event for a chat that an alert names."""

    def render(event: ChangeEvent) -> dict[str, Any]:
        to_mail = dispatch(event, reasons=(samples.REASON,))
        return PREVIEWS[channel](replace(to_mail, message=replace(to_mail.message, channel=channel)), samples.HOME)

    return render


RENDERINGS: dict[str, Callable[[ChangeEvent], dict[str, Any]]] = {
    "bell": bell,
    "mail": mail,
    **{channel.value: chat(channel) for channel in (Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT)},
}


def test_there_are_forty_kinds() -> None:
    assert len(KINDS) >= 40


@pytest.mark.parametrize("name", RENDERINGS)
def test_messages_of_every_kind_are_as_they_were_read(name: str) -> None:
    render = RENDERINGS[name]
    samples.assert_golden({kind: render(event) for kind, event in KINDS.items()}, GOLDEN / f"{name}.json")


@pytest.mark.parametrize("name", RENDERINGS)
def test_no_message_shows_json_or_the_markup_of_links(name: str) -> None:
    texts = samples.texts_of({kind: RENDERINGS[name](event) for kind, event in KINDS.items()})
    assert not [text for text in texts if '{"' in text or "#E::" in text or "changed by admin" in text]

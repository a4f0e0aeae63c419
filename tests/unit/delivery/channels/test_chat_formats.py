"""Tests that messages of every kind keep to what the chats' formats allow, and that their addresses lead somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.google_chat import card_v2
from tests.unit.delivery.channels.kinds import DIGESTS, KINDS, OF_WHOLES, digest_of, message_about
from tests.unit.delivery.channels.ms_teams import adaptive_card
from tests.unit.delivery.channels.slack import block_kit
from tests.unit.delivery.events import change_event, dispatch

from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import Channel

_FORMATS = {
    Channel.SLACK: Draft202012Validator(block_kit.SCHEMA),
    Channel.MS_TEAMS: Draft202012Validator(adaptive_card.SCHEMA),
    Channel.G_CHAT: Draft202012Validator(card_v2.SCHEMA),
}
_BYTES = {Channel.SLACK: 16_000, Channel.MS_TEAMS: 28_000, Channel.G_CHAT: 32_000}
_ADDRESS = re.compile(rf'{re.escape(samples.HOME)}/#(?P<path>/[^"|<>\\\s?)]*)')
_ROUTES = Path(__file__).parents[4] / "web/src/app/routes.ts"
_TAG = re.compile(r"</?([a-z]+)[^>]*>")
_MANY = 300


def messages(channel: Channel) -> Iterator[tuple[str, Dispatch]]:
    """Yield a message about each kind, those about several, and three that hold as much as there can be."""
    yield from ((kind, message_about(kind, channel)) for kind in KINDS)
    yield from ((name, digest_of(name, channel)) for name in (*DIGESTS, *OF_WHOLES))
    yield from {"enormous": samples.enormous(), "hostile": samples.hostile(), "many": samples.digest(_MANY)}.items()
    columns = [FieldChange(name="columns", new_value=[{"name": f"c{at}", "dataType": "INT"}]) for at in range(_MANY)]
    yield "many_columns", dispatch(change_event(ChangeDescription(fields_added=tuple(columns))))


@pytest.mark.parametrize("channel", _FORMATS)
def test_every_message_keeps_to_the_format_of_its_chat(channel: Channel) -> None:
    for name, message in messages(channel):
        preview = PREVIEWS[channel](message, samples.HOME)
        assert [
            f"{name}: {error.json_path} {error.message[:200]}" for error in _FORMATS[channel].iter_errors(preview)
        ] == []
        assert len(orjson.dumps(preview)) <= _BYTES[channel], name


def test_a_card_of_google_chat_has_no_more_widgets_than_are_shown_and_only_known_markup() -> None:
    for name, message in messages(Channel.G_CHAT):
        for card in PREVIEWS[Channel.G_CHAT](message, samples.HOME)["cardsV2"]:
            widgets = [widget for section in card["card"]["sections"] for widget in section["widgets"]]
            assert len(widgets) <= card_v2.MOST_WIDGETS, name
            tags = {tag for text in samples.texts_of(widgets) for tag in _TAG.findall(text)}
            assert tags <= card_v2.MARKUP, name


def test_what_a_format_does_not_allow_is_noticed() -> None:
    """A button without an address, a header that is too long, one action too many."""
    (slack, teams, chat) = (PREVIEWS[one](message_about("failed_test", one), samples.HOME) for one in _FORMATS)
    slack["blocks"][0]["text"]["text"] = "x" * 151
    (card,) = (one["content"] for one in teams["attachments"])
    card["body"][-1] = {"type": "ActionSet", "actions": [{"type": "Action.OpenUrl", "url": samples.HOME}] * 7}
    del chat["cardsV2"][0]["card"]["sections"][-1]["widgets"][-1]["buttonList"]["buttons"][0]["onClick"]["openLink"]
    for channel, payload in zip(_FORMATS, (slack, teams, chat), strict=True):
        assert not _FORMATS[channel].is_valid(payload), channel


def application_paths() -> list[re.Pattern[str]]:
    """Return the addresses of the web application's pages, as it declares them."""
    paths = re.findall(r"path: '([^']+)'", _ROUTES.read_text())
    assert len(paths) > 20
    own_paths = [path for path in paths if not path.startswith("/:")]
    return [re.compile(re.sub(r":\w+", "[^/]+", path)) for path in own_paths]


@pytest.mark.parametrize("channel", [*_FORMATS, Channel.EMAIL])
def test_every_address_of_a_message_leads_to_a_page(channel: Channel) -> None:
    collections, pages = {one.collection for one in ENTITY_TYPES.values()}, application_paths()
    paths: dict[str, str] = {}
    for name, message in messages(channel):
        payload: Any = PREVIEWS[channel](message, samples.HOME)
        text = json.dumps(payload, ensure_ascii=False)
        paths |= {found["path"]: name for found in _ADDRESS.finditer(text)}
        assert _ADDRESS.search(text), f"{name} leads nowhere"
    assert len(paths) >= 12
    for path, name in paths.items():
        collection, _, key = path.strip("/").rpartition("/")
        assert (collection in collections and key) or any(page.fullmatch(path) for page in pages), (name, path)

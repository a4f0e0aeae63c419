"""Tests of links to pages: each reader of a message has one of their own, which ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.mails import read_mail, text_of
from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.email.mails import MailSettings, render_mail
from tocsin.delivery.dispatch import Button
from tocsin.delivery.links.acknowledge import LinkSigner
from tocsin.delivery.links.pages import VALID_FOR_MS, OpenedLink, page_link_of, parse_opened, token_of
from tocsin.delivery.wording.content import message_content

KEY = b"key"
LINKS = LinkSigner("https://t.example", KEY)


def test_a_token_names_its_notification_until_it_ends() -> None:
    token = token_of(OpenedLink("n", 5), KEY)
    assert parse_opened(token, KEY, 4) == OpenedLink("n", 5)
    assert parse_opened(token, KEY, 5) is None
    assert parse_opened(token, b"other", 4) is None
    assert parse_opened(token.replace("n.5", "n.6"), KEY, 4) is None


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("https://t.example/#/tables/1", "https://t.example/#/tables/1"),
        ("https://t.example/", "https://t.example/#/"),
    ],
)
def test_a_page_has_the_token_in_its_fragment(address: str, page: str) -> None:
    link = page_link_of(LINKS, NOW_MS)
    assert link is not None
    token = token_of(OpenedLink("n", NOW_MS + VALID_FOR_MS), KEY)
    assert link(address, "n") == f"{page}?opened={token}"
    assert link("https://t.example/api/v1/mute/x", "n") == "https://t.example/api/v1/mute/x"
    assert page_link_of(LINKS._replace(key=b""), NOW_MS) is None


def test_readers_of_one_event_have_links_of_their_own_in_text_html_and_buttons() -> None:
    to_ann = replace(dispatch(), page_link=page_link_of(LINKS, NOW_MS))
    entries = tuple(replace(one, notification_id="of-ben") for one in to_ann.entries)
    buttons = {"of-ben": (Button("Open INC-7", "https://t.example/#/incidents/INC-7", ""),)}
    to_ben = replace(to_ann, entries=entries, buttons=buttons)
    settings = MailSettings("Tocsin <tocsin@t.example>", "https://t.example")
    for message in (to_ann, to_ben, to_ann):
        mail = read_mail(render_mail(message, settings, now_ms=NOW_MS).content)
        own_id = message.first.notification_id
        for kind in ("plain", "html"):
            text = text_of(mail, kind)
            count = text.count("?opened=")
            assert count > 0
            assert text.count(f"?opened={own_id}.{NOW_MS + VALID_FOR_MS}.") == count
            assert "\x00" not in text
    (section,) = message_content(to_ben, to_ben.entries, base_url="https://t.example", lines_each=5).sections
    assert section.buttons[0].address.startswith("https://t.example/#/incidents/INC-7?opened=of-ben.")

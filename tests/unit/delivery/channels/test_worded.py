"""Tests of messages that templates word: golden previews per channel, limits, and no markup from an asset."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from slack_sdk.models.blocks import Block
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.ms_teams.adaptive_card import SCHEMA
from tests.unit.delivery.channels.slack.test_render import blocks_of as slack_blocks_of
from tests.unit.delivery.events import change_event, dispatch, update_of

from tocsin.delivery.channels.email.render import BLOCKS_LIMIT
from tocsin.delivery.channels.google_chat import render as google_render
from tocsin.delivery.channels.ms_teams import render as teams_render
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.channels.slack import render as slack_render
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.rich_text import RichText
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.message_text import ChosenTemplate, MessagePlace, render_entry, with_texts
from tocsin.delivery.templates.rich_text import blocks_of
from tocsin.model.channels import WORDED
from tocsin.model.subscription import Channel
from tocsin.model.template import Template

GOLDEN = Path(__file__).parent / "golden"
PLACE = MessagePlace("Email", samples.HOME)
BODY = """<h1>{{entity.name}}</h1><p><b>{{event.userName}}</b> changed <a href="{{link}}">{{entity.name}}</a>:</p>
<ul>{{#each changes}}<li>{{text}} <code>{{newValue}}</code>
<ol><li>{{textDiff oldValue newValue}}</li></ol></li>{{/each}}</ul>
<blockquote>{{event.eventType}}</blockquote><pre>{{formatDate event.timestamp}}</pre><hr>
<p>Ask <a href="mailto:data@example.org">the team</a>.</p>"""
TEMPLATE = Template("Sample", "{{camelCaseToTitle event.entityType}} {{entity.name}}", BODY)
LIMITS = {
    Channel.SLACK: slack_render.MESSAGE_BYTES,
    Channel.MS_TEAMS: teams_render.MESSAGE_BYTES,
    Channel.G_CHAT: google_render.MESSAGE_BYTES,
    Channel.EMAIL: 1_000_000,
}
CHANNEL_NAMES = [one.value for one in LIMITS]


def in_words(message: Dispatch, template: Template = TEMPLATE) -> Dispatch:
    """Return a message in the words of a template."""
    in_template, problem = with_texts(
        message, lambda _: ChosenTemplate(template), PLACE, entries=message.entries, accounts=TemplateAccounts()
    )
    assert problem == ""
    return in_template


def preview_of(channel: str, message: Dispatch) -> dict[str, Any]:
    """Return a message as a channel sends it; it is one that its vendor takes."""
    document = PREVIEWS[Channel(channel)](message, samples.HOME)
    assert len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) <= LIMITS[Channel(channel)]
    if channel == Channel.SLACK:
        assert 0 < len(document["blocks"]) <= slack_render.BLOCKS_LIMIT
        for block in slack_blocks_of(document):
            parsed_block = Block.parse(block)
            assert parsed_block is not None
            parsed_block.validate_json()
    if channel == Channel.MS_TEAMS:
        assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)] == []
    return document


def digest(count: int, event: Any = None) -> Dispatch:
    many = samples.digest(count, event)
    return replace(many, entries=tuple(replace(one, notification_id=str(at)) for at, one in enumerate(many.entries)))


def test_templates_word_mails_and_chats() -> None:
    assert set(WORDED) == set(PREVIEWS) == set(CHANNEL_NAMES)


@pytest.mark.parametrize("channel", CHANNEL_NAMES)
def test_messages_are_as_they_were_looked_at(channel: str) -> None:
    event = change_event(update_of("description", "an old text", "a <new> text"))
    message = in_words(dispatch(event, reasons=(samples.REASON,)))
    samples.assert_golden(preview_of(channel, message), GOLDEN / f"{channel}.json")


@pytest.mark.parametrize("channel", CHANNEL_NAMES)
def test_digests_are_as_they_were_looked_at(channel: str) -> None:
    samples.assert_golden(preview_of(channel, in_words(digest(2))), GOLDEN / f"{channel}_digest.json")


@pytest.mark.parametrize("channel", CHANNEL_NAMES)
@pytest.mark.parametrize("body", [BODY, "{{{headline}}} {{{event.userName}}}<p>{{&entity.name}}</p>"])
def test_text_of_an_asset_is_neither_markup_nor_a_mention(channel: str, body: str) -> None:
    document = preview_of(channel, in_words(samples.hostile(), Template("x", "{{entity.name}}", body)))
    if channel == Channel.EMAIL:
        assert "<at>" not in document["html"]
        assert "https://evil.example" not in [part.split('"')[0] for part in document["html"].split('href="')]
        assert "&lt;at&gt;all&lt;/at&gt;" in document["html"]
    elif channel == Channel.G_CHAT:
        cards = json.dumps(document["cardsV2"])
        assert "<users/all>" not in cards
        assert "<at>" not in cards
        assert "<" not in document["cardsV2"][0]["card"]["header"]["title"]
    else:
        assert not [text for text in samples.texts_of(document) if "<" in text and samples.HOME not in text]
        assert "{{" not in json.dumps(document) or channel == Channel.SLACK


@pytest.mark.parametrize("channel", CHANNEL_NAMES)
@pytest.mark.parametrize("markup", ["<p>{}</p>".format("ü<b>x</b>" * 3) * 2_000, "<li>" + "word " * 15_000 + "</li>"])
def test_a_message_keeps_within_the_limits_and_counts_what_it_leaves_out(channel: str, markup: str) -> None:
    for sent in (dispatch(), digest(30)):
        text = RichText("A long one", blocks_of(markup))
        document = preview_of(channel, replace(sent, texts={one.notification_id: text for one in sent.entries}))
        fits_whole = channel == Channel.EMAIL and len(sent.entries) == 1 and len(text.body) < BLOCKS_LIMIT
        assert fits_whole or any("… and " in text or "And 10 more" in text for text in samples.texts_of(document))


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_makes_an_invalid_message(old: str, name: str) -> None:
    event = change_event(update_of("description", old, name), entity={"id": "i", "name": name}, user_name=old)
    message = in_words(dispatch(event, reasons=(samples.REASON,)))
    for channel in CHANNEL_NAMES:
        preview_of(channel, message)


def _odd_template(body: str, _entry: object) -> ChosenTemplate:
    return ChosenTemplate(Template("Odd", "x", body))


def test_what_fails_keeps_the_default_text_and_says_why() -> None:
    plain = dispatch()
    for body, says in (
        ("{{#if missing}}x{{/if}}", "template Odd: templateBody: the template says nothing of this event"),
        ("{{#if a}}", "template Odd: templateBody: Line 1, column 1: this block has no end"),
        ("{{#each entity}}{{> x}}{{/each}}", "template Odd: templateBody: Line 1, column 17: partials"),
    ):
        result, problem = with_texts(
            plain,
            partial(_odd_template, body),
            PLACE,
            entries=plain.entries,
            accounts=TemplateAccounts(),
        )
        assert result == plain
        assert problem.startswith(says)
        assert problem.endswith("; the default text was used")


def test_of_a_digest_only_what_fails_keeps_the_default_text() -> None:
    message = digest(3)
    good, bad = Template("Good", "x", "y"), Template("Bad", "{{x", "y")
    in_template, problem = with_texts(
        message,
        lambda one: ChosenTemplate(bad) if one.notification_id == "1" else ChosenTemplate(good),
        PLACE,
        entries=message.entries[:2],
        accounts=TemplateAccounts(),
    )
    assert set(in_template.texts) == {"0"}
    assert problem == (
        "template Bad: templateSubject: Line 1, column 1: this tag has no end; write }}; the default text was used"
    )


def test_an_empty_subject_is_the_default_one() -> None:
    text = render_entry(Template("x", "{{missing}}", "y"), dispatch().first, PLACE)
    assert text.subject == "orders: column email VARCHAR removed"

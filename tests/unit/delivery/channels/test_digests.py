"""Tests of digests in all channels: grouped by kind and asset, the most important first, bounded, never markup."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from tests.soak import SOAK
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.content import REDUCED
from tocsin.delivery.wording.importance import ToldKind
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.subscription import Channel

MOST_BYTES = 150_000
MOST_MEMORY = 150 * 2**20
TITLES = ["Failed", "Deleted", "Well again", "Added", "Changed"]


def message_of(*events: ChangeEvent, channel: Channel) -> Dispatch:
    reasons = dispatch().first.reasons
    entries = (Entry(f"n{place}", place, CarriedEvent.of(event), reasons) for place, event in enumerate(events))
    sample = dispatch()
    return replace(sample, message=replace(sample.message, channel=channel), entries=tuple(entries))


def about(name: str, event: ChangeEvent) -> ChangeEvent:
    of_asset = {"entity_id": name, "entity_fully_qualified_name": f"acme.shop.public.{name}"}
    return event.model_copy(update=of_asset | {"entity": {"id": name, "name": name}})


def texts_of(message: Dispatch) -> list[str]:
    preview: dict[str, Any] = PREVIEWS[Channel(message.message.channel)](message, samples.HOME)
    return preview["text"].splitlines() if "html" in preview else samples.texts_of(preview)


@pytest.mark.parametrize("channel", PREVIEWS)
def test_a_digest_is_grouped_by_kind_the_most_important_first(channel: Channel) -> None:
    new_text = change_event(update_of("description", "old", "new"))
    new_name = change_event(update_of("displayName", "A", "B"))
    events = [
        about("orders", new_text),
        about("refunds", change_event(addition_of("name", "refunds"), event_type=EventType.ENTITY_CREATED)),
        samples.EVENTS["recovery"].model_copy(update={"entity_id": "recovered"}),
        about("revenue", new_text),
        about("returns", samples.EVENTS["deletion"]),
        about("orders", new_name),
        samples.EVENTS["test_failure"],
    ]
    texts = texts_of(message_of(*events, channel=channel))
    text = "\n".join(texts)
    titles = [one.upper() for one in TITLES] if channel is Channel.EMAIL else TITLES
    places = [texts.index(title) if title in texts else text.index(title) for title in titles]
    assert all(before < after for before, after in pairwise(places))
    assert text.count("orders: ") == 1
    assert text.index("orders: ", text.index(titles[-1])) < text.index("revenue: ")
    assert "changed 2 times by jane.smith" in text


@pytest.mark.parametrize("channel", PREVIEWS)
def test_no_text_of_an_asset_is_markup_in_a_digest(channel: Channel) -> None:
    values = [samples.HOSTILE, f"{samples.HOSTILE}2", f"{samples.HOSTILE}3"]
    changes = [update_of("description", *pair) for pair in pairwise(values)]
    changes += [update_of("displayName", *pair) for pair in pairwise(values)]
    events = [about(samples.HOSTILE, change_event(change, user_name=samples.HOSTILE)) for change in changes]
    events = [event.model_copy(update={"entity_id": "o-1"}) for event in events]
    new_asset = about("other", change_event(None, event_type=EventType.ENTITY_CREATED, user_name=samples.HOSTILE))
    preview = PREVIEWS[channel](message_of(*events, new_asset, channel=channel), samples.HOME)
    text = preview["html"] if channel is Channel.EMAIL else json.dumps(preview, ensure_ascii=False)
    marks = ("<!channel>", "<users/all>", "<b>x</b>", "<at>all</at>", "<https://evil", 'href="https://evil', "<@U012>")
    assert not [mark for mark in marks if mark in text]


@pytest.mark.parametrize("channel", PREVIEWS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_message_says_that_rights_have_left_something_out(channel: Channel, count: int) -> None:
    events = [about(f"table{at}", change_event(update_of("description", "a", "b"))) for at in range(count)]
    message = message_of(*events, channel=channel)
    texts = [json.dumps(PREVIEWS[channel](one, samples.HOME)) for one in (message, replace(message, is_reduced=True))]
    assert [REDUCED in text for text in texts] == [False, True]


def of_one_asset(place: int) -> ChangeEvent:
    return about("orders", change_event(update_of(f"columns.c{place}.description", "x" * 500, "y" * 500)))


def of_one_field(place: int) -> ChangeEvent:
    return about("orders", change_event(update_of("description", f"{place}", f"{place + 1}"), user_name=f"user{place}"))


def of_many_assets(place: int) -> ChangeEvent:
    return about(f"table{place}", change_event(update_of("description", "x" * 500, "y" * 500)))


def of_one_test(place: int) -> ChangeEvent:
    return samples.EVENTS["test_failure"].model_copy(update={"timestamp": samples.FAILED_MS + place})


@cache
def many(event: Callable[[int], ChangeEvent], count: int) -> Dispatch:
    return message_of(*map(event, range(count)), channel=Channel.EMAIL)


@pytest.mark.parametrize(
    ("channel", "event"),
    [
        *((Channel.EMAIL, event) for event in (of_one_asset, of_one_field, of_many_assets, of_one_test)),
        *((channel, of_many_assets) for channel in PREVIEWS if channel is not Channel.EMAIL),
    ],
)
def test_ten_thousand_changes_are_one_short_message(channel: Channel, event: Callable[[int], ChangeEvent]) -> None:
    """Chats, which shorten earlier and by the same words as mails, get 2,000 unless in ``make soak``."""
    message = many(event, 10_000 if SOAK or channel is Channel.EMAIL else 2_000)
    message = replace(message, message=replace(message.message, channel=channel))
    tracemalloc.start()
    preview = PREVIEWS[channel](message, samples.HOME)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert memory < MOST_MEMORY
    text = json.dumps(preview, ensure_ascii=False)
    assert len(text) < MOST_BYTES
    words: dict[Callable[[int], ChangeEvent], str] = {
        of_one_asset: "and 9,9",
        of_one_field: "changed 10,000 times",
        of_many_assets: f"and {len(message.entries) - 100:,}"[:7],
        of_one_test: "10,000 times, last",
    }
    assert words[event] in text


def test_each_kind_has_a_noun_and_a_title() -> None:
    assert all(one.noun and one.title for one in ToldKind)


@pytest.mark.parametrize("channel", PREVIEWS)
@pytest.mark.parametrize("names", [("test_failure", "recovery"), ("recovery", "test_failure")])
def test_nobody_is_advised_to_repair_what_is_well_again(channel: Channel, names: tuple[str, str]) -> None:
    texts = " ".join(texts_of(message_of(*(samples.EVENTS[name] for name in names), channel=channel)))
    is_over = names[-1] == "recovery"
    assert ("nothing: it is well again" in texts) is is_over
    assert ("repair it" in texts) is not is_over


def by_run(name: str, actor: str, run: str | None, field: str = "description") -> ChangeEvent:
    event = change_event(update_of(field, "old", "new"), user_name=actor)
    return about(name, event.model_copy(update={"user_id": actor, "reason": run}))


@pytest.mark.parametrize("channel", PREVIEWS)
def test_a_digest_groups_what_comes_of_one_cause_below_what_did_it(channel: Channel) -> None:
    of_others = about("alone", change_event(update_of("description", "a", "b"), user_name="eve"))
    events = [
        by_run("orders", "dbt", "run <b>7</b>"),
        samples.EVENTS["deletion"],
        of_others.model_copy(update={"user_id": "eve"}),
        by_run("customers", "mallory", "run <b>7</b>"),
        by_run("revenue", "dbt", "run <b>7</b>"),
        by_run("revenue", "dbt", "run <b>7</b>", "displayName"),
    ]
    preview = PREVIEWS[channel](message_of(*events, channel=channel), samples.HOME)
    text = "\n".join(texts_of(message_of(*events, channel=channel)))
    heading = "by dbt: 3 changes of 2 assets"
    assert text.count(heading) == 1, "what another claims to be the same run does not count"
    assert "by mallory:" not in text
    assert text.upper().index("CHANGED") < text.index("alone: ") < text.index(heading) < text.index("revenue: ")
    assert "run <b>7</b>" not in (preview["html"] if channel is Channel.EMAIL else "")


@pytest.mark.parametrize("channel", PREVIEWS)
def test_what_is_all_of_one_cause_is_headed_by_that_alone(channel: Channel) -> None:
    text = "\n".join(texts_of(message_of(by_run("a", "dbt", "run 7"), by_run("b", "dbt", "run 7"), channel=channel)))
    assert "run 7 by dbt: 2 changes: a, b" in text
    assert "2 changes of 2 assets" not in text

"""Tests of the tone of messages."""

from __future__ import annotations

import pytest
from tests.unit.delivery.channels.samples import EVENTS
from tests.unit.delivery.events import change_event

from tocsin.delivery.wording.tones import Tone, tone_of
from tocsin.model.change import EventType


@pytest.mark.parametrize(
    ("name", "tone"), [("test_failure", Tone.FAILED), ("recovery", Tone.WELL), ("schema_change", Tone.NEUTRAL)]
)
def test_colours_are_for_what_failed_or_is_well_again(name: str, tone: Tone) -> None:
    assert tone_of(EVENTS[name]) is tone


def test_what_is_late_needs_attention() -> None:
    assert tone_of(change_event(None, event_type=EventType.SLA_VIOLATION)) is Tone.ATTENTION

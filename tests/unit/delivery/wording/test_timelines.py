"""Every moment of a timeline is a whole sentence: who did what, or whom a message told and what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.delivery.wording.timelines import incident_sentence, message_sentence, request_sentence
from tocsin.model.alert_incident import StepKind
from tocsin.model.change_request import ConsumerVerdict, RequestStepKind
from tocsin.model.message import MessageStatus

ANA, BEN = {"id": "a", "name": "ana"}, {"id": "b", "name": "ben"}
_AT_MS = 1_796_810_400_000


@pytest.mark.parametrize(
    ("moment", "says"),
    [
        ({"kind": "opened"}, "a failure opened it"),
        ({"kind": "acknowledged", "user": ANA, "comment": "ok"}, "ana acknowledged it: “ok”"),
        ({"kind": "assigned", "user": ANA, "assignee": BEN}, "ana assigned it to ben"),
        (
            {"kind": "assigned", "user": ANA, "assignee": ANA, "for": BEN, "awayUntil": 1_797_228_800_000},
            "ana assigned it to ana for ben, who is away until 2026-12-14 07:13 CET",
        ),
        ({"kind": "resolved", "user": ANA, "reason": "MissingData"}, "ana resolved it as missing data"),
        ({"kind": "merged", "user": ANA, "incident": {"name": "INC-7"}}, "ana merged it with INC-7"),
        ({"kind": "split", "user": ANA}, "ana split it from another incident"),
        (
            {"kind": "notCaused", "user": ANA, "incident": {"name": "INC-7"}},
            "ana said that it and INC-7 have different causes",
        ),
        (
            {"kind": "causeRestored", "user": ANA, "incident": {"name": "INC-7"}},
            "ana said that it and INC-7 may have one cause after all",
        ),
        ({"kind": "reminded"}, "alerts reminded of it, as nobody had acknowledged it"),
        ({"kind": "recovered"}, "a success resolved it"),
    ],
)
def test_what_happened_to_an_incident_is_a_sentence(moment: dict[str, Any], says: str) -> None:
    assert incident_sentence(moment, "Europe/Berlin") == says


def test_every_kind_of_moment_has_a_sentence() -> None:
    for kind in StepKind:
        assert " " in incident_sentence({"kind": kind.value, "user": ANA}, "UTC")
    for request_kind in RequestStepKind:
        assert " " in request_sentence({"kind": request_kind.value, "user": ANA}, "UTC", str)
    for verdict in ConsumerVerdict:
        answer = {"kind": "answered", "user": ANA, "answer": verdict.value, "entity": BEN}
        assert request_sentence(answer, "UTC", lambda one: one["name"]).startswith("ana answered for ben: it ")


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"recipient": BEN, "alerts": [{"name": "Late"}]}, "alert Late told ben by mail: delivered"),
        ({"recipient": BEN | {"displayName": "Ben Ox"}, "alerts": []}, "Ben Ox was told by mail: delivered"),
        (
            {"recipient": BEN, "alerts": [{"name": "A"}, {"name": "B"}], "status": "retryLimitReached"},
            "alerts A and B told ben by mail: given up (server error)",
        ),
        (
            {"recipient": {"name": "https://x/***"}, "destinations": ["#data"], "alerts": [], "status": "pending"},
            "#data (https://x/***) was told by mail: not sent yet",
        ),
    ],
)
def test_whom_a_message_told_is_a_sentence(message: dict[str, Any], says: str) -> None:
    assert message_sentence({"status": "delivered", "reason": "serverError"} | message, "by mail") == says


def test_every_status_of_a_message_has_words() -> None:
    for status in MessageStatus:
        says = message_sentence({"recipient": BEN, "alerts": [], "status": status.value, "reason": None}, "by mail")
        assert says == says.lower(), says


def test_a_request_moves_to_a_time_in_the_readers_zone_and_quotes_what_was_said() -> None:
    moved = {"kind": "moved", "user": ANA, "until": _AT_MS, "comment": "a\nweek \u202e"}
    assert request_sentence(moved, "Europe/Berlin", str) == "ana moved it to 2026-12-09 11:00 CET: “a week”"

"""Tests of causes: events as they are in the log, and which of them are one cause."""

from __future__ import annotations

import pytest

from tocsin.model.causes import CauseFacts, CauseKind, gather_causes, parse_token

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS


def edit(offset: int, name: str = "shop.db.public.orders", minute: float = 0, **facts: object) -> CauseFacts:
    """Return the facts of an edit by Priya, or by whoever ``facts`` say."""
    values = {"actor": "priya", "is_bot": False, "reason": None, "entity_type": "table"} | facts
    return CauseFacts(
        offset=offset,
        entity_id=f"id of {name}",
        full_name=name,
        timestamp_ms=int(1_700_000_000_000 + minute * _MINUTE_MS),
        **values,  # type: ignore[arg-type]  # a table of facts
    )


def run(offset: int, name: str, minute: float = 0, *, reason: str = "dbt run 4711", actor: str = "dbt") -> CauseFacts:
    return edit(offset, name, minute, actor=actor, is_bot=True, reason=reason)


_RUN, _SESSION, _FAILURE, _SINGLE = CauseKind
TABLE: dict[str, tuple[list[CauseFacts], list[tuple[CauseKind, list[int]]]]] = {
    "neighbours within an hour": (
        [edit(1), edit(2, "shop.db.public.items", 59), edit(3, "shop.db.public.orders", 118)],
        [(_SESSION, [1, 2, 3])],
    ),
    "a longer pause": ([edit(1), edit(2, minute=60.1), edit(3, minute=61)], [(_SINGLE, [1]), (_SESSION, [2, 3])]),
    "exactly an hour": ([edit(1), edit(2, minute=60)], [(_SESSION, [1, 2])]),
    "another schema": ([edit(1), edit(2, "shop.db.other.orders")], [(_SINGLE, [1]), (_SINGLE, [2])]),
    "another person": ([edit(1), edit(2, actor="owen"), edit(3)], [(_SESSION, [1, 3]), (_SINGLE, [2])]),
    "a schema, its table and a test of it": (
        [
            edit(1, "shop.db.public", entity_type="databaseSchema"),
            edit(2),
            edit(3, "shop.db.public.orders.id.is_set", entity_type="testCase"),
        ],
        [(_SESSION, [1, 2, 3])],
    ),
    "dashboards of a service": (
        [edit(1, "bi.sales", entity_type="dashboard"), edit(2, "bi.stock", entity_type="dashboard")],
        [(_SESSION, [1, 2])],
    ),
    "what nothing contains": (
        [edit(1, "Shop", entity_type="domain"), edit(2, "Cart", entity_type="domain"), edit(3, "Shop")],
        [(_SESSION, [1, 3]), (_SINGLE, [2])],
    ),
    "names with dots": (
        [edit(1, '"shop.eu".db.public.orders'), edit(2, '"shop.eu".db.public.items')],
        [(_SESSION, [1, 2])],
    ),
    "a run, whatever it changes, for hours": (
        [run(1, "shop.db.public.orders"), run(2, "wh.db.marts.daily", 5 * 60), run(3, "bi.sales", 10 * 60)],
        [(_RUN, [1, 2, 3])],
    ),
    "the run of the next day says the same": (
        [run(1, "shop.db.public.orders"), run(2, "shop.db.public.orders", 24 * 60)],
        [(_RUN, [1]), (_RUN, [2])],
    ),
    "another run": ([run(1, "a.b.c.d"), run(2, "a.b.c.d", reason="dbt run 4712")], [(_RUN, [1]), (_RUN, [2])]),
    "another actor who claims the run": (
        [run(1, "a.b.c.d"), run(2, "a.b.c.e", actor="mallory"), run(3, "a.b.c.f")],
        [(_RUN, [1, 3]), (_RUN, [2])],
    ),
    "a person says why": (
        [edit(1, reason="prices net"), edit(2, "x.y.z.t", reason="prices net"), edit(3)],
        [(_RUN, [1, 2]), (_SINGLE, [3])],
    ),
    "a person says the same two hours later": (
        [edit(1, reason="prices net"), edit(2, minute=120, reason="prices net")],
        [(_RUN, [1]), (_RUN, [2])],
    ),
    "a bot that states no run": (
        [edit(1, actor="bot", is_bot=True), edit(2, "shop.db.public.items", 30, actor="bot", is_bot=True)],
        [(_SESSION, [1, 2])],
    ),
    "a failure and what fails below it": (
        [
            edit(1, "a.b.c.d", root="incident", actor="dbt"),
            edit(2),
            edit(3, "x.y.z.t", 3 * 24 * 60, root="incident", actor="airflow", reason="run 7"),
        ],
        [(_FAILURE, [1, 3]), (_SINGLE, [2])],
    ),
    "conversations and what nobody did": (
        [edit(1, entity_type="thread"), edit(2, entity_type="thread"), edit(3, actor=None), edit(4, actor=None)],
        [(_SINGLE, [1]), (_SINGLE, [2]), (_SINGLE, [3]), (_SINGLE, [4])],
    ),
    "equal times": ([edit(2), edit(1), edit(3)], [(_SESSION, [1, 2, 3])]),
    "a clock set back and put right": (
        [edit(1, minute=600), edit(2, minute=0), edit(3, minute=620)],
        [(_SESSION, [1, 2, 3])],
    ),
    "nothing": ([], []),
}


@pytest.mark.parametrize("name", TABLE)
def test_events_are_gathered_by_cause(name: str) -> None:
    events, expected = TABLE[name]
    causes = [(one.kind, [facts.offset for facts in one.events]) for one in gather_causes(events)]
    assert causes == expected
    assert gather_causes(reversed(events)) == gather_causes(events)


def test_a_token_names_the_events_that_were_shown_and_nothing_else() -> None:
    events = [edit(1), edit(2, actor="owen"), edit(3, "shop.db.public.items")]
    (priya, _) = gather_causes(events)
    token = parse_token(str(priya.token))
    assert token == priya.token
    later = edit(4, minute=1)
    assert [facts.offset for facts in (*events, later) if priya.token.names(facts)] == [1, 3]
    (longer_cause, _) = gather_causes([*events, later])
    assert (longer_cause.token.digest, longer_cause.token.first, longer_cause.token.last) == (token.digest, 1, 4)


@pytest.mark.parametrize("text", ["", "x", "0123456789abcdef.1", "0123456789abcdef.1.-2", "0123456789ABCDEF.1.2"])
def test_what_is_no_token_names_nothing(text: str) -> None:
    assert parse_token(text) is None

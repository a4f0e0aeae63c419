"""Tests of the datasets and jobs of lineage events that nothing stands for: counts, forgetting, how many are kept."""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.store.catalogue.lineage.unresolved import MOST_COUNTED, MOST_KEPT, UnresolvedLineageLog


def test_each_event_counts_once_and_the_newest_reason_stays(store_engine: Engine) -> None:
    log = UnresolvedLineageLog(store_engine)
    log.count({("a", "x"): "not mapped", ("b", "y"): "not mapped"}, 1_000)
    log.count({("a", "x"): "deleted"}, 2_000)
    entries, total = log.newest(limit=1)
    assert total == 2
    (entry,) = entries
    assert (entry.namespace, entry.name, entry.reason, entry.events) == ("a", "x", "deleted", 2)
    assert (entry.first_at, entry.last_at) == (1_000, 2_000)


def test_what_was_found_is_forgotten_and_nothing_else(store_engine: Engine) -> None:
    log = UnresolvedLineageLog(store_engine)
    log.count({("a", "x"): "not mapped", ("a", "y"): "not mapped"}, 1_000)
    log.forget([])
    log.forget([("a", "z")])
    log.forget([("a", "x"), ("b", "y")])
    entries, _ = log.newest(limit=10)
    assert [entry.name for entry in entries] == ["y"]


def test_one_event_counts_few_names_and_the_oldest_go(store_engine: Engine) -> None:
    log = UnresolvedLineageLog(store_engine)
    log.count({("a", str(number)): "not mapped" for number in range(MOST_COUNTED + 50)}, 1)
    assert log.newest(limit=1)[1] == MOST_COUNTED
    for at_ms in range(2, 2 + MOST_KEPT // MOST_COUNTED):
        log.count({(str(at_ms), str(number)): "not mapped" for number in range(MOST_COUNTED)}, at_ms)
    entries, total = log.newest(limit=1_000)
    assert total <= MOST_KEPT
    assert min(entry.last_at for entry in entries) > 1

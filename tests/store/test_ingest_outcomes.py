"""Tests of the counts of what events of other systems came to."""

from __future__ import annotations

import threading

from sqlalchemy import Engine, text

from tocsin.store.database.engine import writing
from tocsin.store.eventlog.ingest_outcomes import IngestOutcomes

ROUNDS, WRITERS = 10, 3


def test_counts_of_several_processes_add_up(store_engine: Engine) -> None:
    def count() -> None:
        outcomes = IngestOutcomes(store_engine)
        for _ in range(ROUNDS):
            outcomes.add({("refused", "CONFLICT"): 2, ("applied", ""): 1, ("refused", "NOT_FOUND"): 1})

    writers = [threading.Thread(target=count) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    total = ROUNDS * WRITERS
    assert IngestOutcomes(store_engine).all() == {
        ("applied", ""): total,
        ("refused", "CONFLICT"): 2 * total,
        ("refused", "NOT_FOUND"): total,
    }


def test_a_store_that_takes_no_counts_keeps_nobody_from_going_on(store_engine: Engine) -> None:
    """Fault scenario 67."""
    with writing(store_engine) as connection:
        connection.execute(text("DROP TABLE ingest_outcome"))
    IngestOutcomes(store_engine).add({("applied", ""): 1})

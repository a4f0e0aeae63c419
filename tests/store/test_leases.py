"""Tests of worker claims with jumping clocks, sleeping, dying and disconnected workers: one holder per row, always.

Each worker has a clock that may be set to anything; its monotonic clock is the real passage of time for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import Engine, select
from tests.soak import SOAK
from tests.store.rows import add_messages, finish_of, states
from tests.unit.delivery.events import NOW_MS

from tocsin.delivery.worker.leases import Leases, Watch
from tocsin.model.message import Message, OutcomeReason, Retry
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import (
    attempt,
    change_event,
    destination_status,
    message,
    notification,
    worker_session,
)
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

LEASE_S = 90.0
NAMES = ("a", "b", "c")
COUNT = 4
_TABLES = (attempt, change_event, message, destination_status, notification, worker_session)
Clocks = st.sampled_from([-86_400_000, -3_600_000, -1, 0, 1, 3_600_000, 86_400_000])


@dataclass
class Simulated:
    """A worker as its parts: what ``delivery/worker/deliver.py`` does with them, one step at a time."""

    name: str
    leases: Leases = field(default_factory=lambda: Leases(LEASE_S))
    watch: Watch = field(default_factory=Watch)
    begun: int = 0
    set_by_ms: int = 0
    unknown: bool = False
    claimed: dict[str, Message] = field(default_factory=dict)


class JumpingClocks(RuleBasedStateMachine):
    """Three workers over one store."""

    engine: Engine

    @initialize()
    def start(self) -> None:
        with writing(self.engine) as connection:
            for table in _TABLES:
                connection.execute(table.delete())
        self.ids = add_messages(self.engine, COUNT)
        self.messages, self.sessions = Messages(self.engine), Sessions(self.engine)
        self.passed_s = 0.0
        self.workers = {name: Simulated(name) for name in NAMES}
        self.born = 0

    def now_ms(self, worker: Simulated) -> int:
        return NOW_MS + 10_000 + round(self.passed_s * 1000) + worker.set_by_ms

    def renew(self, worker: Simulated) -> None:
        if worker.leases.session_id and self.sessions.renew(worker.leases.session_id, now_ms=self.now_ms(worker)):
            worker.leases.renew(asked_at_s=self.passed_s)
            return
        worker.begun += 1
        session_id = f"{worker.name}#{worker.begun}"
        self.sessions.begin(session_id, lease_ms=round(LEASE_S * 1000), now_ms=self.now_ms(worker))
        worker.leases.begin(session_id, asked_at_s=self.passed_s)
        worker.claimed = {}

    def assure(self, worker: Simulated) -> None:
        if not worker.leases.are_sure(self.passed_s):
            self.renew(worker)

    @rule(name=st.sampled_from(NAMES))
    def beats(self, name: str) -> None:
        self.renew(self.workers[name])

    @rule(name=st.sampled_from(NAMES))
    def looks_around(self, name: str) -> None:
        worker = self.workers[name]
        self.renew(worker)
        other_sessions = [other for other in self.sessions.all() if other.id != worker.leases.session_id]
        self.sessions.end_silent(worker.watch.silent(other_sessions, self.passed_s))
        self.messages.plan_again(self.now_ms(worker))

    @rule(name=st.sampled_from(NAMES), limit=st.integers(1, COUNT), answer_is_lost=st.booleans())
    def claims(self, name: str, limit: int, answer_is_lost: bool) -> None:
        worker = self.workers[name]
        self.assure(worker)
        session_id = worker.leases.session_id
        if worker.unknown:
            self.messages.keep_only(session_id, worker.leases.ids())
            worker.unknown = False
        claimed = self.messages.claim(session_id, limit, now_ms=self.now_ms(worker))
        worker.unknown = answer_is_lost
        if not answer_is_lost:
            worker.leases.take(session_id, claimed)
            worker.claimed |= {row.id: row for row in claimed}

    @rule(name=st.sampled_from(NAMES), failed=st.booleans())
    def records(self, name: str, failed: bool) -> None:
        worker = self.workers[name]
        session_id, leased = worker.leases.session_id, [worker.claimed[row_id] for row_id in worker.leases.ids()][:1]
        outcome = Retry(OutcomeReason.SERVER_ERROR) if failed else None
        group = [finish_of(row, outcome, retries=10**6, at_ms=self.now_ms(worker)) for row in leased]
        self.messages.record(session_id, group, now_ms=self.now_ms(worker))
        worker.leases.drop(session_id, [row.id for row in leased])

    @rule(passed_s=st.sampled_from([0.5, 30.0, 89.0, 90.0, 1_000.0]))
    def time_passes(self, passed_s: float) -> None:
        self.passed_s += passed_s

    @rule(name=st.sampled_from(NAMES), set_by_ms=Clocks)
    def clock_is_set(self, name: str, set_by_ms: int) -> None:
        self.workers[name].set_by_ms = set_by_ms

    @rule(name=st.sampled_from(NAMES))
    def dies(self, name: str) -> None:
        self.born += 1
        before = self.workers[name]
        self.workers[name] = Simulated(name, begun=100 * self.born, set_by_ms=before.set_by_ms)

    @invariant()
    def nobody_shares_what_they_are_sure_of(self) -> None:
        sure = [one for one in self.workers.values() if one.leases.are_sure(self.passed_s)]
        leased = [row_id for one in sure for row_id in one.leases.ids()]
        assert len(leased) == len(set(leased))
        with reading(self.engine) as connection:
            owners = {
                row.id: row.lease_owner for row in connection.execute(select(message.c.id, message.c.lease_owner))
            }
        for worker in sure:
            assert {owners[row_id] for row_id in worker.leases.ids()} <= {worker.leases.session_id}

    def teardown(self) -> None:
        """Everybody dies; one worker, whose clock is right, gets all that is open within a lease and its wait."""
        if not hasattr(self, "workers"):
            return
        last_worker = Simulated("last")
        self.workers = {"last": last_worker}
        self.looks_around("last")
        self.passed_s += LEASE_S
        self.looks_around("last")
        self.passed_s += 60.0  # the wait of tests/store/rows.py
        while last_worker.leases.ids() or self.claims_all(last_worker):
            self.records("last", failed=False)
        assert {status for status, _ in states(self.engine).values()} == {"delivered"}

    def claims_all(self, worker: Simulated) -> int:
        self.claims(worker.name, COUNT, answer_is_lost=False)
        return len(worker.leases)


@pytest.mark.soak_on_postgresql
def test_jumping_clocks_lose_nothing_and_share_nothing(store_engine: Engine) -> None:
    """Fault scenario 6."""

    class Machine(JumpingClocks):
        engine = store_engine

    examples = (60 if store_engine.dialect.name == "sqlite" else 25) // (1 if SOAK else 2)
    run_state_machine_as_test(Machine, settings=settings(max_examples=examples, stateful_step_count=30))

"""Tests of the lead among relays of one name: one leads, the next takes over when it ends or falls silent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.store.eventlog.relay_lead import LOOK_EVERY_S, RelayLead

SOME_LOOKS_S = 1.6 * LOOK_EVERY_S


@dataclass
class Standby:
    """A relay that waits for the lead in a thread."""

    lead: RelayLead
    stop: threading.Event = field(default_factory=threading.Event)
    leads: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._wait)
        self.thread.start()

    def _wait(self) -> None:
        if self.lead.take(self.stop):
            self.leads.set()

    def end(self) -> None:
        """Stop waiting, and give up what it has."""
        self.stop.set()
        self.thread.join(30)
        self.lead.give_up()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _fall_silent(lead: RelayLead) -> None:
    """Let a relay that leads give no signs of life any more, as one whose process is suspended."""
    assert lead._giving_signs is not None
    thread, ended = lead._giving_signs
    ended.set()
    thread.join()


def lead_of(engine: Engine, name: str = "relay", *, lease_s: float = 600.0) -> RelayLead:
    return RelayLead(engine, name, SystemClock(), lease_s=lease_s)


def test_one_leads_and_the_next_when_it_gives_up(store_engine: Engine, stack: ExitStack) -> None:
    first = lead_of(store_engine)
    stack.callback(first.give_up)
    assert first.take(threading.Event())
    standby = Standby(lead_of(store_engine))
    stack.callback(standby.end)
    assert not standby.leads.wait(SOME_LOOKS_S)
    first.give_up()
    assert standby.leads.wait(30)


def test_relays_of_other_names_lead_beside_it(store_engine: Engine, stack: ExitStack) -> None:
    for name in ("one", "two"):
        lead = lead_of(store_engine, name)
        stack.callback(lead.give_up)
        assert lead.take(threading.Event())


def test_one_that_gives_no_sign_of_life_is_passed_over(store_engine: Engine, stack: ExitStack) -> None:
    silent = lead_of(store_engine)
    stack.callback(silent.give_up)
    assert silent.take(threading.Event())
    _fall_silent(silent)
    standby = Standby(lead_of(store_engine, lease_s=0.5))
    stack.callback(standby.end)
    assert standby.leads.wait(30)
    silent.give_up()
    standby.thread.join(30)
    standby.lead.check()  # takes the lock, too, now that it is free
    third = Standby(lead_of(store_engine))
    stack.callback(third.end)
    assert not third.leads.wait(SOME_LOOKS_S)


def test_one_that_gives_signs_of_life_is_not_passed_over(store_engine: Engine, stack: ExitStack) -> None:
    leading = lead_of(store_engine)
    stack.callback(leading.give_up)
    assert leading.take(threading.Event())
    standby = Standby(lead_of(store_engine, lease_s=2.0))
    stack.callback(standby.end)
    assert not standby.leads.wait(3)


def test_who_stops_waiting_does_not_lead(store_engine: Engine, stack: ExitStack) -> None:
    first = lead_of(store_engine)
    stack.callback(first.give_up)
    assert first.take(threading.Event())
    stop = threading.Event()
    stop.set()
    assert not lead_of(store_engine).take(stop)

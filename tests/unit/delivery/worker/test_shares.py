"""Tests of the shares of a worker's processes: together they never exceed a limit, whoever begins or ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.worker.shares import IDLE_S, MORE_AFTER_S, Place, ProcessTable, only_place

LIMIT = 8


class Sender:
    """A process that sends as much as it may to two destinations; what it sends ends one by one."""

    def __init__(self, table: ProcessTable) -> None:
        self.number = table.add()
        self.place = Place(table, self.number)
        self.busy_counts = {"a": 0, "b": 0}

    def send(self, name: str) -> None:
        """Send as much as the share is, if the process may begin and may claim from the destination."""
        if self.place.may_begin() and self.place.may_claim(name):
            self.busy_counts[name] = max(self.busy_counts[name], self.place.share(LIMIT))

    def finish(self, name: str) -> None:
        """End one request."""
        self.busy_counts[name] = max(0, self.busy_counts[name] - 1)

    def settle(self) -> None:
        """Look at the shares, as after each claim."""
        self.place.settle(LIMIT, self.busy_counts)


@pytest.mark.parametrize("count", range(1, LIMIT + 1))
def test_shares_make_up_the_limit_and_nobody_has_none(count: int) -> None:
    table = ProcessTable(LIMIT)
    places = [Place(table, table.add()) for _ in range(count)]
    shares = [place.share(LIMIT) for place in places]
    assert sum(shares) == LIMIT
    assert min(shares) == LIMIT // count


STEPS = st.sampled_from(["begin", "end", "send", "send", "finish", "settle", "settle"])


@given(st.lists(st.tuples(STEPS, st.integers(0, 3), st.sampled_from("ab")), max_size=120))
def test_together_they_never_send_more_than_the_limit(steps: list[tuple[str, int, str]]) -> None:
    table = ProcessTable(4)
    running = [Sender(table)]
    for step, which, name in steps:
        if step == "begin" and len(running) < 4:
            running.append(Sender(table))
        sender = running[which % len(running)]
        if step == "end" and len(running) > 1:  # also the first, which is begun anew
            running.remove(sender)
            table.remove(sender.number)
        elif step == "send":
            sender.send(name)
        elif step == "finish":
            sender.finish(name)
        elif step == "settle":
            sender.settle()
        for destination in "ab":
            assert sum(one.busy_counts[destination] for one in running) <= LIMIT


def test_who_begins_waits_for_the_others_and_for_destinations_that_hang() -> None:
    table = ProcessTable(2)
    first = Sender(table)
    first.send("a")
    second = Sender(table)
    assert not second.place.may_begin()
    first.settle()
    assert second.place.may_begin()
    assert (second.place.may_claim("a"), second.place.may_claim("b")) == (False, True)
    for _ in range(LIMIT // 2):
        first.finish("a")
    first.settle()
    assert second.place.may_claim("a")
    assert first.place.share(LIMIT) == second.place.share(LIMIT) == LIMIT // 2


def test_a_process_with_too_many_that_hang_or_an_own_address_lets_others_wait() -> None:
    table = ProcessTable(2)
    first, second = Sender(table), Sender(table)
    first.place.settle(LIMIT, {str(number): LIMIT for number in range(100)})
    assert not second.place.may_begin()
    first.place.settle(LIMIT, {"Webhook own:somebody": LIMIT})
    assert not second.place.may_begin()
    first.place.settle(LIMIT, {"d": LIMIT})
    assert second.place.may_begin()
    table.remove(first.number)
    assert second.place.may_claim("d")


def test_another_process_is_asked_for_while_webhooks_pile_up() -> None:
    times_s: list[float] = []
    table = ProcessTable(2)
    place = Place(table, table.add(), lambda: times_s.append(now_s))
    for now_s, webhooks in ((0.0, 200), (MORE_AFTER_S / 2, 200), (MORE_AFTER_S, 10), (1.0, 200), (1.2, 200)):
        place.look_for_more(webhooks, 192, now_s)
    assert times_s == []
    now_s = 1.0 + MORE_AFTER_S
    place.look_for_more(200, 192, now_s)
    assert times_s == [now_s]
    table.add()
    place.look_for_more(200, 192, now_s + 10 * MORE_AFTER_S)
    assert times_s == [now_s]


def test_all_but_the_first_end_when_they_are_idle() -> None:
    table = ProcessTable(2)
    for place, ends in ((Place(table, table.add()), False), (Place(table, table.add()), True)):
        assert not place.is_to_end(3, 0.0)
        assert not place.is_to_end(0, IDLE_S - 1)
        assert place.is_to_end(0, IDLE_S) is ends
        assert not place.is_to_end(1, IDLE_S)


def test_an_only_process_has_everything() -> None:
    place = only_place()
    assert (place.is_first, place.may_begin(), place.share(LIMIT)) == (True, True, LIMIT)

"""Tests of the messages that wait for a lane: few of a slow destination are judged again, and none is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.unit.delivery.events import dispatch

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.worker.waiting import WaitingDispatches


def numbered_dispatch(number: int, destination_id: str = "d") -> Dispatch:
    judged = dispatch(judged_at_s=100.0)
    message = replace(judged.message, id=f"{destination_id}{number}", destination_id=destination_id)
    return replace(judged, message=message)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as entered:
        yield entered


def hold(stack: ExitStack, waiting: WaitingDispatches, dispatches: list[Dispatch]) -> list[Dispatch]:
    for waiting_dispatch in dispatches:
        stack.enter_context(waiting.hold(waiting_dispatch))
    return dispatches


def ids(dispatches: list[Dispatch]) -> list[str]:
    return [one.message.id for one in dispatches]


def test_as_many_are_judged_with_a_message_as_have_begun_in_their_lane_since(stack: ExitStack) -> None:
    waiting = WaitingDispatches()
    fast = hold(stack, waiting, [numbered_dispatch(number) for number in range(9)])
    slow = hold(stack, waiting, [numbered_dispatch(number, "slow") for number in range(9)])
    hold(stack, waiting, [numbered_dispatch(number, "hung") for number in range(9)])
    for sent in (*fast[:3], slow[0]):
        waiting.begin(sent)
    assert ids(waiting.next_portion(judged_before_s=101.0)) == ["d3", "d4", "d5", "slow1"]
    assert waiting.next_portion(judged_before_s=101.0) == [], "none has begun since"


def test_what_was_judged_a_moment_ago_is_not_judged_again(stack: ExitStack) -> None:
    waiting = WaitingDispatches()
    dispatches = hold(stack, waiting, [numbered_dispatch(number) for number in range(4)])
    waiting.begin(dispatches[0])
    waiting.begin(dispatches[1])
    waiting.renew([replace(dispatches[2], judged_at_s=200.0)])
    assert ids(waiting.next_portion(judged_before_s=199.5)) == ["d3"]


def test_a_message_begins_as_it_was_judged_last_and_what_has_begun_is_not_renewed(stack: ExitStack) -> None:
    waiting = WaitingDispatches()
    first, second = hold(stack, waiting, [numbered_dispatch(1), numbered_dispatch(2)])
    judged_first, judged_second = replace(first, judged_at_s=200.0), replace(second, judged_at_s=200.0)
    assert waiting.begin(first) is first
    waiting.renew([judged_first, judged_second])
    assert waiting.begin(second) is judged_second
    assert waiting.begin(first) is first, "it does not wait any more"


def test_nothing_of_a_withdrawn_message_or_of_an_empty_lane_is_kept() -> None:
    waiting, withdrawn, sent = WaitingDispatches(), numbered_dispatch(1), numbered_dispatch(2)
    with pytest.raises(InterruptedError), waiting.hold(withdrawn):
        raise InterruptedError
    with waiting.hold(sent):
        waiting.begin(sent)
    later = numbered_dispatch(3)
    with waiting.hold(later):
        waiting.renew([withdrawn])
        assert waiting.next_portion(judged_before_s=1_000.0) == [], "what began before the lane was empty is forgotten"

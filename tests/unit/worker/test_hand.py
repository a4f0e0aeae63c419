from dataclasses import replace

from tests.unit.flow.send.events import dispatch

from tocsin.worker.hand import Hand

ONE = dispatch().delivery
TWO = replace(ONE, id="two", destination_id="e")


def test_what_is_taken_is_held_until_its_lease_ends() -> None:
    hand = Hand()
    hand.take([ONE], until_ms=100)
    assert hand.holds(ONE.id, 99)
    assert not hand.holds(ONE.id, 100)
    hand.renew([ONE.id, "unknown"], until_ms=200)
    assert hand.holds(ONE.id, 199)


def test_what_is_dropped_is_no_longer_counted() -> None:
    hand = Hand()
    hand.take([ONE, TWO], until_ms=100)
    assert (len(hand), hand.per_destination) == (2, {"d": 1, "e": 1})
    hand.drop([ONE.id, ONE.id])
    assert (len(hand), hand.per_destination, hand.ids()) == (1, {"e": 1}, ["two"])

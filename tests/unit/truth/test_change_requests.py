"""Tests of what the truth expects of change requests: by hand."""

from __future__ import annotations

from truth.change_requests import ChangeRequests
from truth.expected_state import ExpectedState
from truth.predicted import events_of
from truth.steps import ADMIN, Announce, Answer, Edge, Follow, Make, Remove, Step, Withdraw

ORDERS, DAILY, WEEKLY = (("table", f"s.d.p.{name}") for name in ("orders", "daily", "weekly"))
ANNOUNCED = Announce("ann", "CR-1", ORDERS, "removal")


def world_after(*steps: Step) -> ExpectedState:
    """Return a catalogue in which orders feed daily, owned by a team, and that weekly, without an owner."""
    world = ExpectedState()
    for step in (
        Make(ADMIN, ("team", "shop"), {"users": [{"type": "user", "name": "ben"}]}),
        Make(ADMIN, ORDERS, {}),
        Make(ADMIN, DAILY, {"owners": [{"type": "team", "name": "shop"}]}),
        Make(ADMIN, WEEKLY, {}),
        Edge(ADMIN, ORDERS, DAILY, is_there=True),
        Edge(ADMIN, DAILY, WEEKLY, is_there=True),
        *(Follow(user, user, ORDERS, begins=True) for user in ("ann", "cem")),
        *steps,
    ):
        world.apply(step)
    return world


def requests_after(*steps: Step) -> ChangeRequests:
    return world_after(ANNOUNCED, *steps).requests


def test_owners_of_all_that_reads_an_asset_and_its_followers_are_asked_but_not_the_author() -> None:
    world = world_after(ANNOUNCED)
    assert set(world.requests.principals_asked_by(ANNOUNCED, world.owners_of)) == {("team", "shop"), ("user", "cem")}
    assert world.requests.by_name["CR-1"].open_count == 3


def test_a_member_answers_for_the_team_and_the_author_hears_of_it_once() -> None:
    answer = Answer("ben", "CR-1", "ready")
    world = world_after(ANNOUNCED)
    assert list(events_of(answer, world)) == [("changeRequestAnswered", ORDERS)]
    assert world.requests.principals_asked_by(answer, world.owners_of) == (("user", "ann"),)
    world.apply(answer)
    assert world.requests.by_name["CR-1"].open_count == 2
    assert list(events_of(answer, world)) == []
    assert list(events_of(Answer("ben", "CR-1", "objects"), world)) == [("changeRequestAnswered", ORDERS)]


def test_the_author_does_not_hear_of_an_answer_of_their_own() -> None:
    world = world_after(Announce("ben", "CR-1", ORDERS, "removal"))
    assert list(events_of(Answer("ben", "CR-1", "ready"), world)) == []


def test_a_deletion_before_the_date_ends_a_request() -> None:
    requests = requests_after(Remove("ann", ORDERS, is_hard=False))
    assert requests.just_ended == {ORDERS: ("CR-1", "early")}
    assert requests.requests_to_come() == {}


def test_a_deletion_is_not_what_a_deprecation_announced_and_ends_nothing_that_was_withdrawn() -> None:
    deprecation, deletion = Announce("ann", "CR-1", ORDERS, "deprecation"), Remove("ann", ORDERS, is_hard=True)
    assert world_after(deprecation, deletion).requests.just_ended == {ORDERS: ("CR-1", "otherwise")}
    assert requests_after(Withdraw("ann", "CR-1"), deletion).just_ended == {}


def test_a_consumer_that_is_deleted_for_good_is_asked_no_more() -> None:
    assert requests_after(Remove("ann", DAILY, is_hard=False)).by_name["CR-1"].open_count == 3
    assert requests_after(Remove("ann", DAILY, is_hard=True)).by_name["CR-1"].open_count == 2

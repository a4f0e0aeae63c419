"""Predicted events: what each step must write into the log, so that a lost event is a difference like any other.

Source: ``docs/history.md``, ``docs/lineage.md``, ``docs/feed.md``, ``docs/api.md``. Next: ``truth/expected.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch

from truth.expected_state import ExpectedState
from truth.facts import Event
from truth.history import Key
from truth.job_events import CHECK, HANDLED
from truth.steps import (
    Acknowledge,
    Announce,
    Answer,
    Change,
    Choose,
    DropAlert,
    Edge,
    EditPost,
    EndTask,
    Follow,
    Make,
    MakeMany,
    Members,
    MoveTeam,
    MuteAlert,
    MuteAsset,
    MuteBroadly,
    Post,
    Prefer,
    Reassign,
    Remove,
    RemoveUser,
    RenameTag,
    RenameTeam,
    Report,
    Restore,
    SetAlert,
    StartThread,
    Step,
    SwitchAlert,
    TeamFollow,
    Wait,
    Withdraw,
)
from truth.suite_runs import RUN
from truth.values import differs

Made = tuple[str, Key]
"""Type of an event, and type and FQN of the entity it is about."""


def surprises(step: Step, events: Sequence[Event], world: ExpectedState) -> Iterator[str]:
    """Yield what a step wrote and should not have, and the reverse; ``world`` is the catalogue before the step."""
    predicted, actual = Counter(events_of(step, world)), Counter((event.event_type, event.key) for event in events)
    for event in (predicted - actual).elements():
        yield f"missing event {event} of {step}"
    for event in (actual - predicted).elements():
        yield f"unexpected event {event} of {step}"


def unlike_requests(step: Step, events: Sequence[Event], world: ExpectedState) -> Iterator[str]:
    """Yield what events say wrongly of change requests; ``world`` is the catalogue after the step."""
    ended_requests = world.requests.just_ended if isinstance(step, Remove) else {}
    for event in events if isinstance(step, Wait) else ():
        yield from _unlike_job_event(event, world)
    for event in events:
        is_deletion = event.event_type in ("entityDeleted", "entitySoftDeleted")
        right = _announced_deletion(step, event.key, ended_requests) if is_deletion else set()
        if event.announcements != right:
            yield f"announcements of {event.key} are {sorted(event.announcements)}, not {sorted(right)}"
    if isinstance(step, Announce | Answer | Withdraw):
        request = world.requests.by_name[step.request]
        stand = (step.request, request.status, request.open_count)
        for event in (one for one in events if one.request != stand):
            yield f"{event.event_type} of {event.key} says {event.request}, not {stand}"


def _announced_deletion(step: Step, key: Key, ended: Mapping[Key, tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the request about something that is deleted, or the newer one about what is deleted with all below it."""
    own_and_above = [ended[one] for one in (key, step.key) if one in ended] if isinstance(step, Remove) else []
    return {max(own_and_above, key=lambda one: int(one[0].partition("-")[2]))} if own_and_above else set()


def _unlike_job_event(event: Event, world: ExpectedState) -> Iterator[str]:
    """Yield what an event says wrongly of an incident, a change request or what is still so."""
    right = world.job_events.get((event.event_type, event.key[1]))
    if right is None:
        return
    number_and_alerts = (right.number, len(right.reminding)) if right.reminding else None
    states = event.paths if event.event_type == CHECK else frozenset()
    written, due = (event.request, event.reminder, states), (right.request, number_and_alerts, right.states)
    if written != due:
        yield f"{event.event_type} of {event.key} says {written}, not {due}"


@singledispatch
def events_of(step: Step, world: ExpectedState) -> Iterator[Made]:
    """Yield the events that a step must make; ``world`` is the catalogue before it."""
    raise TypeError(step)


@events_of.register
def _make(step: Make, world: ExpectedState) -> Iterator[Made]:
    if step.key[0] == "testCase":
        suite = ("testSuite", f"{step.key[1].rpartition('.')[0]}.testSuite")
        if suite not in world:
            yield "entityCreated", suite
    yield "entityCreated", step.key


@events_of.register
def _make_many(step: MakeMany, world: ExpectedState) -> Iterator[Made]:
    for make in step.makes:
        yield from _make(make, world)
    for schema in step.told_as_one:
        yield "entityUpdated", schema


@events_of.register
def _change(step: Change, world: ExpectedState) -> Iterator[Made]:
    document = world.document(step.key)
    if any(differs(key, document.get(key), value) for key, value in world.values_written_by(step).items()):
        yield "entityUpdated", step.key


@events_of.register
def _remove(step: Remove, world: ExpectedState) -> Iterator[Made]:
    removed = [step.key, *world.below(step.key)]
    for key in removed:
        yield ("entityDeleted" if step.is_hard else "entitySoftDeleted"), key
    if step.is_hard:
        for key in removed:
            yield from (("entityUpdated", one) for one in world.downstream.get(key, ()) if one not in removed)


@events_of.register
def _restore(step: Restore, world: ExpectedState) -> Iterator[Made]:
    for key in (step.key, *world.below(step.key)):
        yield "entityRestored", key


@events_of.register
def _follow(step: Follow, world: ExpectedState) -> Iterator[Made]:
    if step.column or step.begins or step.user in world.entities[step.key].followers:  # to refuse is no event
        yield "entityUpdated", step.key


@events_of.register
def _edge(step: Edge, _world: ExpectedState) -> Iterator[Made]:
    yield "entityUpdated", step.product


@events_of.register
def _members(step: Members, world: ExpectedState) -> Iterator[Made]:
    member_names = {one["name"] for one in world.document(("team", step.team)).get("users", ())}
    if member_names != set(step.users):
        yield "entityUpdated", ("team", step.team)


@events_of.register
def _rename_tag(step: RenameTag, _world: ExpectedState) -> Iterator[Made]:
    yield "entityUpdated", ("tag", step.new_fqn)


@events_of.register
def _move_team(step: MoveTeam, _world: ExpectedState) -> Iterator[Made]:
    yield "entityUpdated", ("team", step.team)


@events_of.register
def _rename_team(step: RenameTeam, world: ExpectedState) -> Iterator[Made]:
    yield "entityUpdated", ("team", step.name)
    for key, entity in world.entities.items():
        if key[0] == "eventsubscription" and f'"{step.team}"' in json.dumps(entity.document).replace("'", '"'):
            yield "entityUpdated", key


@events_of.register
def _remove_user(step: RemoveUser, world: ExpectedState) -> Iterator[Made]:
    yield ("entityDeleted" if step.is_hard else "entitySoftDeleted"), ("user", step.user)
    if step.is_hard:
        yield from (("entityUpdated", key) for key in world.keys_naming(step.user))


@events_of.register(Prefer)
@events_of.register(Choose)
@events_of.register(MuteAsset)
@events_of.register(MuteAlert)
@events_of.register(MuteBroadly)
@events_of.register(TeamFollow)
def _choose(
    _step: Prefer | Choose | MuteAsset | MuteAlert | MuteBroadly | TeamFollow, _world: ExpectedState
) -> Iterator[Made]:
    yield from ()


@events_of.register
def _start_thread(step: StartThread, _world: ExpectedState) -> Iterator[Made]:
    yield "threadCreated", ("thread", step.key[1])


@events_of.register
def _post(step: Post, world: ExpectedState) -> Iterator[Made]:
    yield "postCreated", ("thread", world.threads[step.thread].about[1])


@events_of.register
def _edit_post(step: EditPost, world: ExpectedState) -> Iterator[Made]:
    yield "postUpdated", ("thread", world.threads[step.thread].about[1])


@events_of.register
def _reassign(step: Reassign, world: ExpectedState) -> Iterator[Made]:
    if set(step.assignees) != set(world.threads[step.thread].assignees):
        yield "threadUpdated", ("thread", world.threads[step.thread].about[1])


@events_of.register
def _end_task(step: EndTask, world: ExpectedState) -> Iterator[Made]:
    about = world.threads[step.thread].about
    if step.description is not None and world.document(about).get("description") != step.description:
        yield "entityUpdated", about
    yield ("taskClosed" if step.description is None else "taskResolved"), ("thread", about[1])


@events_of.register
def _report(step: Report, world: ExpectedState) -> Iterator[Made]:
    yield ("testCaseFailure" if step.status == "Failed" else "entityUpdated"), step.key
    suite = world.suite_of(step.key)
    if world.suite_runs.completes(suite, world.tests_beside(step.key), step.key):
        yield RUN, suite


@events_of.register
def _announce(step: Announce, _world: ExpectedState) -> Iterator[Made]:
    yield "changeRequestUpdated", step.key


@events_of.register
def _answer(step: Answer, world: ExpectedState) -> Iterator[Made]:
    if world.requests.is_told(step, world.consumers_of(step.request, step.actor)):
        yield "changeRequestAnswered", world.requests.by_name[step.request].about


@events_of.register
def _withdraw(step: Withdraw, world: ExpectedState) -> Iterator[Made]:
    yield "changeRequestUpdated", world.requests.by_name[step.request].about


@events_of.register
def _acknowledge(step: Acknowledge, _world: ExpectedState) -> Iterator[Made]:
    yield HANDLED, step.key


@events_of.register
def _wait(_step: Wait, world: ExpectedState) -> Iterator[Made]:
    yield from ((one.event_type, one.key) for one in world.job_events.values())


@events_of.register
def _set_alert(step: SetAlert, world: ExpectedState) -> Iterator[Made]:
    key = ("eventsubscription", step.alert)
    yield ("entityUpdated" if key in world else "entityCreated"), key


@events_of.register
def _switch_alert(step: SwitchAlert, _world: ExpectedState) -> Iterator[Made]:
    yield "entityUpdated", ("eventsubscription", step.alert)


@events_of.register
def _drop_alert(step: DropAlert, _world: ExpectedState) -> Iterator[Made]:
    yield "entityDeleted", ("eventsubscription", step.alert)

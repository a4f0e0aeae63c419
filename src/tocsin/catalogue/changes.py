"""What people do with change requests: announce, answer, discuss, move, withdraw.

Announcing, moving and withdrawing make an event of the asset, ``changeRequestUpdated``, in the field ``changeRequest``,
and no version. Answers and reminders make events of their own types, for the author and for those that are open: they
name no consumers, which not everybody may see who sees the asset.
Next: ``server/routes/changes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.flow.capture.announced import has_type
from tocsin.flow.capture.write import Record
from tocsin.flow.track.change_requests import (
    DAY_MS,
    check_date,
    check_open,
    deprecate,
    end_with_asset,
    is_awaited,
    is_reminder_due,
    move,
    next_reminder_ms,
    remind,
    status_at,
    withdraw,
)
from tocsin.model import fqn as fqns
from tocsin.model.access import Operation
from tocsin.model.change import CHANGE_REQUEST, ChangeDescription, EventType, FieldChange
from tocsin.model.change_request import (
    AnnouncedChange,
    AnswerWay,
    ChangeAnnouncement,
    ChangeAnswer,
    ChangeConsumer,
    ChangeKind,
    RequestStatus,
    RequestStep,
    RequestStepKind,
)
from tocsin.model.columns import columns_at, missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Stored, not_found

MOST_ANNOUNCED = 100
"""Requests that one person may have announced at a time; administrators have no limit."""


def column_path_of(column: str | None, entity_type: str, asset: Document) -> str | None:
    """Return the path of the column that is meant, its FQN below that of the asset; None: the asset as a whole.

    Raises
    ------
    InvalidInput : the asset has no such column
    """
    if column is None:
        return None
    fqn = asset["fullyQualifiedName"]
    paths = relative_fqns_by_spelling(entity_type, fqn, asset)
    if column not in paths:
        raise missing_column(fqn, column, paths, field="column")
    return paths[column]


def check_new_value(
    announcement: ChangeAnnouncement, column_path: str | None, entity_type: str, asset: Document
) -> None:
    """Refuse a new type or name that changes nothing, and a new name that another column has.

    Raises
    ------
    InvalidInput : the column has that type, or what is renamed or a column beside it has that name
    """
    new_value = announcement.new_value
    if new_value is None:
        return
    if column_path is None:
        if new_value == asset.get("name"):
            raise InvalidInput(f"{asset['fullyQualifiedName']} is called {new_value} already", field="newValue")
        return
    columns = columns_at(entity_type, asset, column_path)
    if announcement.kind is ChangeKind.TYPE:
        if all(has_type(column, new_value) for column in columns.values()):
            raise InvalidInput(f"column {column_path} has the type {new_value} already", field="newValue")
        return
    *above, name = fqns.split(column_path)
    if new_value == name:
        raise InvalidInput(f"column {column_path} is called {new_value} already", field="newValue")
    namesakes = columns_at(entity_type, asset, fqns.join([*above, new_value]))
    if not namesakes.keys().isdisjoint(fqns.join([*fqns.steps_of(path)[:-1], new_value]) for path in columns):
        raise InvalidInput(f"there is another column {new_value}", field="newValue")


def differing_fields(announcement: ChangeAnnouncement, request: AnnouncedChange) -> list[str]:
    """Return the fields, but for asset and column, in which an announcement is another than a request."""
    values = {
        "kind": (announcement.kind, request.kind),
        "newValue": (announcement.new_value, request.new_value),
        "date": (announcement.date, request.due_at_ms),
        "why": (announcement.why, request.why),
        "replacement": (announcement.replacement, request.replacement),
        "remindEveryDays": (announcement.remind_every_days, request.remind_every_days or 0),
    }
    return [field for field, (new_value, present_value) in values.items() if new_value != present_value]


def announce(
    record: Record, announcement: ChangeAnnouncement, asset_key: tuple[str, str], consumers: Sequence[ChangeConsumer]
) -> AnnouncedChange:
    """Store a request about an asset, by type and id, with its consumers.

    Raises
    ------
    NotFound : the asset is gone
    Forbidden : the actor may not edit the asset, or has announced too many
    Conflict : the same asset or column has a request already
    InvalidInput : the asset has no such column, the date is not ahead, or the new type or name is no change
    """
    asset = _editable(record, *asset_key)
    if asset is None:
        raise not_found(asset_key[0], Key.by_id(asset_key[1]))
    check_date(announcement.date, record.at_ms)
    column_path = column_path_of(announcement.column, asset.entity_type, asset.document)
    check_new_value(announcement, column_path, asset.entity_type, asset.document)
    requests = record.transaction.change_requests
    for present in (one.request for one in requests.standing([asset.id]).get(asset.id, ())):
        if present.column_path == column_path and is_awaited(present, record.at_ms):
            raise _second_announcement(announcement, present)
    if not record.actor.is_admin and requests.announced_count(record.actor.id, record.at_ms) >= MOST_ANNOUNCED:
        raise Forbidden(f"You have {MOST_ANNOUNCED} change requests announced, the maximum; withdraw one first.")
    request = AnnouncedChange(
        id=record.ids.entity(),
        entity_id=asset.id,
        entity_type=asset.entity_type,
        kind=announcement.kind,
        due_at_ms=announcement.date,
        why=announcement.why,
        author_id=record.actor.id,
        author_name=record.actor.name,
        announced_at_ms=record.at_ms,
        updated_at_ms=record.at_ms,
        column_path=column_path,
        new_value=announcement.new_value,
        replacement=announcement.replacement,
        remind_every_days=announcement.remind_every_days,
    )
    remind_at_ms = next_reminder_ms(request, record.at_ms)
    request = requests.announce(replace(request, remind_at_ms=remind_at_ms), consumers)
    event_id = _note(record, asset, None, request)
    requests.add_steps([replace(_step(record, request.id, RequestStepKind.ANNOUNCED), event_id=event_id)])
    return request


def _second_announcement(announcement: ChangeAnnouncement, present: AnnouncedChange) -> Conflict:
    fields = differing_fields(announcement, present)
    if not fields:
        return Conflict(f"{present.name} announces it already")
    fields_text = " and ".join(filter(None, (", ".join(fields[:-1]), fields[-1])))
    wording = f"already announces a change of it that differs in {fields_text}; withdraw or move {present.name}"
    return Conflict(f"{present.name} {wording}")


def move_request(
    record: Record, request_id: str, due_at_ms: int, *, comment: str | None, consumers: Sequence[ChangeConsumer]
) -> None:
    """Move a request to a later date, and add the consumers that are new.

    Raises
    ------
    NotFound : there is no such request
    Forbidden : the actor may not edit the asset, or, of one that is deleted for good, has not announced the change
    Conflict, InvalidInput : as ``flow/track/change_requests.move``
    """
    moved = partial(move, due_at_ms=due_at_ms, at_ms=record.at_ms)
    before, after, event_id = _take_step(record, request_id, moved, comment)
    record.transaction.change_requests.add_consumers(request_id, consumers, record.at_ms)
    if (before, comment) != (after, None):
        step = replace(_step(record, request_id, RequestStepKind.MOVED), comment=comment, until_ms=due_at_ms)
        record.transaction.change_requests.add_steps([replace(step, event_id=event_id)])


def withdraw_request(record: Record, request_id: str, comment: str | None) -> None:
    """Withdraw a request. Raises as ``move_request``."""
    *_, event_id = _take_step(record, request_id, partial(withdraw, at_ms=record.at_ms), comment)
    step = replace(_step(record, request_id, RequestStepKind.WITHDRAWN), comment=comment, event_id=event_id)
    record.transaction.change_requests.add_steps([step])


def ask_author(record: Record, request_id: str) -> bool:
    """Ask the author of a request that is due, and not done, what became of it; once for each date. Return whether.

    What is not there raises no question: nothing of an asset that is deleted, which may be restored; nor a column that
    is missing on the date, which is noted as a step.
    """
    requests = record.transaction.change_requests
    request, asset = _hold_with_asset(record, request_id)
    if request is None or status_at(request, record.at_ms) is not RequestStatus.DUE:
        return False
    if not is_awaited(request, record.at_ms):
        return False
    if asset is None or asset.is_deleted or requests.is_asked(request_id, request.due_at_ms):
        return False
    column_path = request.column_path
    if column_path is not None and not columns_at(asset.entity_type, asset.document, column_path):
        requests.add_steps([_step(record, request_id, RequestStepKind.MISSING)])
        return False
    event_id = _note(record, asset, request, request)
    requests.add_steps([replace(_step(record, request_id, RequestStepKind.ASKED), event_id=event_id)])
    return True


def end_column_requests(record: Record, asset: Stored) -> None:
    """End the requests about columns of an asset that is about to be deleted for good, and tell those that they ask.

    Requests about the asset itself end by its deletion, deprecations on their dates.
    """
    standing = record.standing_requests
    if standing is None:
        standing = record.transaction.change_requests.standing([asset.id])
    for request in (one.request for one in standing.get(asset.id, ())):
        is_own = request.entity_id == asset.id and request.column_path is not None
        if is_own and is_awaited(request, record.at_ms) and request.kind is not ChangeKind.DEPRECATION:
            after = end_with_asset(request, record.at_ms)
            record.transaction.change_requests.put(after)
            event_id = _note(record, asset, request, after)
            step = replace(_step(record, request.id, RequestStepKind.DONE), event_id=event_id)
            record.transaction.change_requests.add_steps([step])


def complete_deprecation(record: Record, request_id: str) -> bool:
    """Note that a deprecation whose date has come is done; once, if several jobs look. Return whether."""
    requests = record.transaction.change_requests
    request = requests.hold(request_id)
    if request is None or status_at(request, record.at_ms) is not RequestStatus.DUE:
        return False
    requests.put(deprecate(request, record.at_ms))
    requests.add_steps([_step(record, request_id, RequestStepKind.DONE)])
    return True


def remind_open(record: Record, request_id: str) -> bool:
    """Remind those that have not answered a request, if that is due; once, if several jobs look. Return whether."""
    requests = record.transaction.change_requests
    request, asset = _hold_with_asset(record, request_id)
    if request is None or asset is None or asset.is_deleted or not is_reminder_due(request, record.at_ms):
        return False
    if not requests.open_count(request_id):
        return False
    requests.put(remind(request, record.at_ms))
    event_id = _note(record, asset, request, request, event_type=EventType.CHANGE_REQUEST_REMINDER)
    requests.add_steps([replace(_step(record, request_id, RequestStepKind.REMINDED), event_id=event_id)])
    return True


def remind_consumer(record: Record, request_id: str, consumer_id: str) -> None:
    """Remind those who answer for one consumer of a request, at most once a day.

    Raises
    ------
    NotFound : there is no such request, its asset is gone, or this is no consumer of it
    Forbidden : another person announced it
    Conflict : it takes no answers, this one has answered, or was reminded within a day
    """
    request, asset = _hold_with_asset(record, request_id)
    if request is None or asset is None or asset.is_deleted:
        raise NotFound(f"change request {request_id} not found")
    if record.actor.id != request.author_id:
        raise Forbidden(f"Only {request.author_name}, who announced {request.name}, reminds of it.")
    check_open(request, record.at_ms)
    requests = record.transaction.change_requests
    entry = next((one for one in requests.answers(request_id) if one.consumer.id == consumer_id), None)
    if entry is None:
        raise NotFound(f"{request.name} has no consumer {consumer_id}")
    if entry.answer is not None:
        raise Conflict(f"consumer {consumer_id} has answered {request.name}")
    reminded_at_ms = requests.reminded_at_ms(request_id, consumer_id)
    if reminded_at_ms is not None and abs(record.at_ms - reminded_at_ms) < DAY_MS:
        raise Conflict(f"consumer {consumer_id} was reminded of {request.name} within a day")
    event_id = _note(record, asset, request, request, event_type=EventType.CHANGE_REQUEST_REMINDER)
    step = _step(record, request_id, RequestStepKind.REMINDED)
    step = replace(step, consumer_id=consumer_id, consumer_type=entry.consumer.type, event_id=event_id)
    requests.add_steps([step])


def answer_request(
    record: Record,
    request_id: str,
    answer: ChangeAnswer,
    consumer_ids: Collection[str],
    *,
    way: AnswerWay | None = None,
) -> None:
    """Take an answer for some consumers of a request, in the place of their former ones; once, if it is repeated.

    Raises
    ------
    NotFound : there is no such request, or one of these is no consumer of it
    Conflict : it takes no answers
    InvalidInput : it needs until a time that is not ahead
    """
    request, asset = _hold_with_asset(record, request_id)
    if request is None:
        raise NotFound(f"change request {request_id} not found")
    check_open(request, record.at_ms)
    if answer.until is not None and answer.until <= record.at_ms:
        raise InvalidInput("must be in the future", field="until")
    requests = record.transaction.change_requests
    entries = {one.consumer.id: one for one in requests.answers(request_id)}
    steps: list[RequestStep] = []
    for consumer_id in consumer_ids:
        if consumer_id not in entries:
            raise NotFound(f"{request.name} has no consumer {consumer_id}")
        consumer, present = entries[consumer_id]
        step = replace(
            _step(record, request_id, RequestStepKind.ANSWERED),
            comment=answer.comment,
            until_ms=answer.until,
            consumer_id=consumer_id,
            consumer_type=consumer.type,
            verdict=answer.answer,
            way=way,
        )
        steps += [] if present and step.says_the_same(present) else [step]
    requests.add_steps(steps)
    if steps and asset is not None and record.actor.id != request.author_id:
        requests.attach_event(steps[0].id, _note_answer(record, asset, request, steps, len(entries)))


def comment_on_request(record: Record, request_id: str, comment: str) -> None:
    """Add a contribution to the discussion of a request; ``NotFound`` if there is none."""
    _hold_request(record, request_id)
    step = replace(_step(record, request_id, RequestStepKind.COMMENTED), comment=comment)
    record.transaction.change_requests.add_steps([step])


def _take_step(
    record: Record, request_id: str, change: Callable[[AnnouncedChange], AnnouncedChange], comment: str | None
) -> tuple[AnnouncedChange, AnnouncedChange, str | None]:
    """Store what a change makes of a request, with an event that has the comment if the asset is there.

    Return the request before and after, and the id of the event.
    """
    stored_request = record.transaction.change_requests.find(request_id)
    asset = None if stored_request is None else _editable(record, stored_request.entity_type, stored_request.entity_id)
    before = _hold_request(record, request_id)  # after the asset, as who writes that holds both
    if asset is None and not record.actor.is_admin and record.actor.id != before.author_id:
        raise Forbidden(f"The asset of {before.name} is deleted: only {before.author_name} may change the request.")
    after = change(before)
    record.transaction.change_requests.put(after)
    is_told = (before.due_at_ms, before.withdrawn_at_ms) != (after.due_at_ms, after.withdrawn_at_ms)
    facts = {} if comment is None else {"comment": comment}
    event_id = _note(record, asset, before, after, facts=facts) if asset is not None and is_told else None
    return before, after, event_id


def _hold_with_asset(record: Record, request_id: str) -> tuple[AnnouncedChange | None, Stored | None]:
    """Return a request and its asset and hold both, in the order of writes of the asset; None for what is gone."""
    requests = record.transaction.change_requests
    stored_request = requests.find(request_id)
    if stored_request is None:
        return None, None
    asset = record.transaction.find(stored_request.entity_type, Key.by_id(stored_request.entity_id))
    return requests.hold(request_id), asset


def _hold_request(record: Record, request_id: str) -> AnnouncedChange:
    request = record.transaction.change_requests.hold(request_id)
    if request is None:
        raise NotFound(f"change request {request_id} not found")
    return request


def _editable(record: Record, entity_type: str, entity_id: str) -> Stored | None:
    """Return the asset, refused to who may not edit it; None if it is deleted for good."""
    asset = record.transaction.find(entity_type, Key.by_id(entity_id))
    if asset is not None:
        record.permit.check(entity_type, (Operation.EDIT_ALL,), asset.document)
    return asset


def _note_answer(
    record: Record, asset: Stored, request: AnnouncedChange, steps: Sequence[RequestStep], consumer_count: int
) -> str | None:
    """Add the event that tells the author of an answer, for how many consumers, not for which; return its id.

    Who may see the asset may see the event, but perhaps no consumer, and not who answers for one.
    """
    answer = {"answer": steps[0].verdict and steps[0].verdict.value, "consumers": len(steps)}
    until = {} if steps[0].until_ms is None else {"until": steps[0].until_ms}
    facts = {"answered": answer | until, "consumers": consumer_count}
    unnamed = replace(record, actor=SYSTEM)
    return _note(unnamed, asset, None, request, event_type=EventType.CHANGE_REQUEST_ANSWERED, facts=facts)


def _step(record: Record, request_id: str, kind: RequestStepKind) -> RequestStep:
    """Return that the actor does something to a request."""
    return RequestStep(
        id=record.ids.entity(),
        request_id=request_id,
        kind=kind,
        at_ms=record.at_ms,
        user_id=record.actor.id,
        user_name=record.actor.name,
    )


def _note(
    record: Record,
    asset: Stored,
    before: AnnouncedChange | None,
    after: AnnouncedChange,
    *,
    event_type: EventType = EventType.CHANGE_REQUEST_UPDATED,
    facts: Document | None = None,
) -> str | None:
    """Add the event of the asset that says what was announced, moved, withdrawn, answered or is due; return its id."""
    open_count = record.transaction.change_requests.open_count(after.id)
    old_value = None if before is None else request_value(before, record.at_ms)
    new_value = {**request_value(after, record.at_ms), "openAnswers": open_count, **(facts or {})}
    change = FieldChange(name=CHANGE_REQUEST, old_value=old_value, new_value=new_value)
    description = ChangeDescription().with_changes(change)
    event = record.note(asset, description, event_type=event_type).event
    return None if event is None else event.id


def request_value(request: AnnouncedChange, at_ms: int) -> Document:
    """Return a request as events and pages show it."""
    optional = {"column": request.column_path, "newValue": request.new_value, "replacement": request.replacement}
    return {
        "id": request.id,
        "name": request.name,
        "kind": request.kind.value,
        "status": status_at(request, at_ms).value,
        "date": request.due_at_ms,
        "why": request.why,
        **{key: value for key, value in optional.items() if value is not None},
    }

"""Checks of proposed changes: what each would change and break, what reads it, what announces it, whom it would notify.

Each change is rehearsed on the catalogue as it is; nothing is kept, and nobody is notified. What the caller may not
view is counted at most; an asset that they may not view is as one that is not there. Next: ``catalogue/proposals.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tocsin.catalogue.proposals import RehearsedProposal, rehearse
from tocsin.catalogue.writes import Writes
from tocsin.conditions.breaking import reasons_of_event
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.nodes import Node
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import InvalidCondition, InvalidInput, NotFound
from tocsin.flow.resolve.impact import Reached, Walk, readers_of, used_columns
from tocsin.model.announcement import (
    Announcement,
    ChangeOutcome,
    announcement_of,
    reasons_unannounced,
    words_of_announcement,
)
from tocsin.model.breaking import BreakingReason
from tocsin.model.change import LoggedEvent
from tocsin.model.change_request import MOST_CONSUMERS, ConsumerVerdict
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, types_below
from tocsin.model.lineage import Edge
from tocsin.model.proposed_change import ChangeCheck, ProposedChange
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.rehearsal import RecipientCounts, RehearsalAudience
from tocsin.server.access.permissions import visible_references
from tocsin.server.access.references import with_names
from tocsin.server.alerts.explanations import editable_alerts, visible_alerts
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, OPEN, TEXT, array, either, exact_object, nullable
from tocsin.server.request import Caller

_DEPTH = 50
_MOST_LISTED = 100
"""Readers of one asset that are named; all are counted."""


@dataclass(frozen=True)
class _ProposalReaders:
    """What reads what a change touches: all that the caller may view, and the number of what they may not.

    ``adapted`` are those made from the asset that the pull request makes without what goes, as far as they may be seen.
    """

    visible: Sequence[tuple[Reached, bool]] = ()
    hidden_count: int = 0
    columns: Mapping[str, set[str]] = field(default_factory=dict)
    owners: Mapping[str, list[Document]] = field(default_factory=dict)
    adapted: Sequence[Document] = ()


@dataclass(frozen=True)
class _Checked:
    """A proposed change, what it would do (None: its asset is not there), and the answers of conditions about it.

    ``objected`` are numbers of change requests to which a consumer objects.
    """

    proposal: ProposedChange
    rehearsed: RehearsedProposal | None
    readers: _ProposalReaders
    tests: Sequence[Document]
    objected: frozenset[str]
    answers: Sequence[bool] = ()

    @property
    def own_event(self) -> LoggedEvent | None:
        """Return the event of the asset itself; None if nothing of it would change."""
        if self.rehearsed is None or not self.rehearsed.events:
            return None
        captured = self.rehearsed.events[0]
        return LoggedEvent(0, captured.event, captured.derived)


def _entity_of(checked: _Checked) -> Document | None:
    if checked.rehearsed is None:
        return None
    stored = checked.rehearsed.stored
    names = {key: stored.document[key] for key in ("name", "displayName") if stored.document.get(key)}
    return {"id": stored.id, "type": stored.entity_type, "fullyQualifiedName": stored.fqn, **names}


def _reasons_of(checked: _Checked) -> list[Document]:
    logged = checked.own_event
    if logged is None:
        return []
    reasons, announcements = reasons_of_event(logged.event), _announcements_in(checked, logged)
    return [reason.as_json() | {"announcement": _words_of(reason, reasons, announcements)} for reason in reasons]


def _announcements_in(checked: _Checked, logged: LoggedEvent) -> list[Announcement]:
    """Return how requests announce a change that is not made yet: none of their dates is too late for it."""
    announcements = list(logged.event.announcements or ())
    for number, announcement in enumerate(announcements):
        if announcement.outcome is ChangeOutcome.EARLY:
            is_objected = announcement.request in checked.objected
            outcome = ChangeOutcome.OBJECTED if is_objected else ChangeOutcome.AS_ANNOUNCED
            announcements[number] = announcement.model_copy(update={"outcome": outcome})
    return announcements


def _words_of(reason: BreakingReason, reasons: Sequence[BreakingReason], announcements: Sequence[Announcement]) -> str:
    announcement = announcement_of(reason, announcements)
    if announcement is not None and announcement.outcome is ChangeOutcome.AS_ANNOUNCED:
        return f"announced by {announcement.request}"
    return words_of_announcement(reason, reasons, announcements)


def _is_announced(checked: _Checked) -> bool:
    """Return whether requests announce all that breaks readers, and no consumer objects."""
    logged = checked.own_event
    if logged is None:
        return False
    reasons, announcements = reasons_of_event(logged.event), _announcements_in(checked, logged)
    is_as_announced = all(one.outcome is ChangeOutcome.AS_ANNOUNCED for one in announcements)
    return bool(reasons) and is_as_announced and not reasons_unannounced(reasons, announcements)


def _announcements_of(checked: _Checked) -> list[Document]:
    logged = checked.own_event
    return [one.as_json() for one in _announcements_in(checked, logged)] if logged else []


_REASON = exact_object(
    {
        "kind": TEXT,
        "text": TEXT,
        "announcement": {
            **TEXT,
            "description": "How a change request announces it; empty if that follows from others.",
        },
    },
    {"field": TEXT, "before": TEXT, "after": TEXT},
)
_READER = exact_object(
    {
        "entity": OPEN,
        "level": COUNT,
        "isCertain": {**FLAG, "description": "False: only some columns change, and its column lineage is not known."},
    },
    {"affectedColumns": array(TEXT), "owners": array(OPEN)},
)
_CHECKED: Shape[_Checked] = {
    "entityType": (TEXT, lambda checked: checked.proposal.entity_type),
    "fullyQualifiedName": (TEXT, lambda checked: checked.proposal.fully_qualified_name),
    "entity": (
        {**nullable(OPEN), "description": "Null: it is not in the catalogue, or you may not view it."},
        _entity_of,
    ),
    "headline": (
        {**TEXT, "description": "The change in words; empty if nothing changes."},
        lambda checked: event_text(logged.event).headline if (logged := checked.own_event) else "",
    ),
    "breakingReasons": (array(_REASON), _reasons_of),
    "isAnnounced": ({**FLAG, "description": "Change requests announce all that breaks readers."}, _is_announced),
    "announcements": (array(OPEN), _announcements_of),
    "readers": (
        exact_object({"total": COUNT, "hidden": COUNT, "data": array(_READER)}),
        lambda checked: _readers_json(checked.readers),
    ),
    "adapted": (
        {**array(OPEN), "description": "Those of the proposal's `adapted` that read it now."},
        lambda checked: list(checked.readers.adapted),
    ),
    "tests": ({**array(OPEN), "description": "Tests of what goes or changes."}, lambda checked: list(checked.tests)),
    "missingColumns": (
        {**array(TEXT), "description": "Columns that the proposal names and the catalogue does not have."},
        lambda checked: list(checked.rehearsed.missing) if checked.rehearsed else [],
    ),
    "conditions": (array(FLAG), lambda checked: list(checked.answers)),
}
_RECIPIENT = exact_object(
    {"events": COUNT, "alerts": array(TEXT), "reasons": array(TEXT)},
    {
        "user": OPEN,
        "channels": {
            **array(either(*Channel)),
            "description": "Those of the alerts' destinations for a user; what users set for themselves is not said.",
        },
        "channel": TEXT,
    },
)
CHECK_SCHEMA = exact_object(
    {
        "data": array(schema_of(_CHECKED)),
        "recipients": exact_object(
            {
                "people": COUNT,
                "addresses": COUNT,
                "isComplete": {**FLAG, "description": "Of others, you know those of the alerts that you may edit."},
            },
            {"data": array(_RECIPIENT)},
        ),
    }
)
"""An answer about proposed changes, in their order."""


def check_changes(check: ChangeCheck, caller: Caller) -> Document:
    """Return what proposed changes would do, each rehearsed by itself.

    Raises
    ------
    InvalidInput : a type is no asset or holds others, a condition is wrong, or a proposal does not fit; with its place
    """
    conditions = [_parse(condition, number) for number, condition in enumerate(check.conditions)]
    audience = caller.parts.make_audience()
    checked_changes = [
        _check_one(proposal, number, conditions, caller=caller, with_owners=check.people)
        for number, proposal in enumerate(check.changes)
    ]
    for checked_change in checked_changes:
        if checked_change.rehearsed is not None:
            audience.add(checked_change.rehearsed.events)
    return {
        "data": [json_of(_CHECKED, checked_change) for checked_change in checked_changes],
        "recipients": _recipients_json(audience, caller, with_names_of_people=check.people),
    }


def _parse(condition: str, number: int) -> Node:
    try:
        return parse_and_check(condition)
    except InvalidCondition as error:
        raise error.of_rule(None, f"conditions[{number}]") from error


def _check_one(
    proposal: ProposedChange, number: int, conditions: Sequence[Node], *, caller: Caller, with_owners: bool
) -> _Checked:
    kind = ENTITY_TYPES.get(proposal.entity_type)
    if kind is None or not kind.is_asset or types_below(kind.name):
        field_name = f"changes[{number}].entityType"
        raise InvalidInput("must be a type of asset that holds no others, such as table or topic", field=field_name)
    rehearsed_change = _rehearse(proposal, number, caller) if _is_visible(proposal, caller) else None
    checked_change = _Checked(
        proposal,
        rehearsed_change,
        _readers_of(proposal, rehearsed_change, caller, with_owners=with_owners),
        _with_names(rehearsed_change.tests, caller) if rehearsed_change else (),
        _objected_requests(rehearsed_change.stored.id, caller) if rehearsed_change else frozenset(),
    )
    own_event = checked_change.own_event
    answers = [own_event is not None and holds(condition, own_event) for condition in conditions]
    return replace(checked_change, answers=answers)


def _rehearse(proposal: ProposedChange, number: int, caller: Caller) -> RehearsedProposal | None:
    """Rehearse a change as the caller, whatever they may edit; it is not kept, but counts, since it takes as long."""
    bounds = caller.parts.writes.bounds
    writes = Writes(caller.parts.catalogue, caller.parts.clock, bounds=bounds).rehearsal()
    try:
        rehearsed_change = writes.within(partial(rehearse, proposal=proposal), actor=caller.actor)
        bounds.write_counts.add(caller.actor, rehearsed_change.events if rehearsed_change else ())
        return rehearsed_change
    except InvalidInput as error:
        place = f"changes[{number}]" + (f".{error.field}" if error.field else "")
        raise InvalidInput(error.message, field=place) from error


def _objected_requests(asset_id: str, caller: Caller) -> frozenset[str]:
    """Return the numbers of the standing requests about an asset to which a consumer objects."""
    requests = caller.parts.changes.list_standing([asset_id]).get(asset_id, ())
    verdicts = caller.parts.changes.verdicts([one.id for one in requests]) if requests else {}
    return frozenset(one.name for one in requests if verdicts[one.id].get(ConsumerVerdict.OBJECTS))


def _is_visible(proposal: ProposedChange, caller: Caller) -> bool:
    key = Key.by_name(proposal.fully_qualified_name)
    try:
        document = caller.parts.catalogue.get(proposal.entity_type, key, "non-deleted")
    except NotFound:
        return False
    return bool(visible_references(caller, [{"id": document["id"], "type": proposal.entity_type}]))


def _readers_of(
    proposal: ProposedChange, rehearsed: RehearsedProposal | None, caller: Caller, *, with_owners: bool
) -> _ProposalReaders:
    touches_all = proposal.deleted or proposal.message_schema is not None
    if rehearsed is None or not rehearsed.events or not (touches_all or rehearsed.columns):
        return _ProposalReaders()
    asset, graph = rehearsed.stored, caller.parts.graph.impact
    columns = frozenset[str]() if touches_all else rehearsed.columns
    root = {"id": asset.id, "type": asset.entity_type, "name": asset.document["name"]}
    walk = graph.walk(root, _DEPTH, MOST_CONSUMERS)
    walk, adapted_assets = _without_adapted(walk, asset.id, columns, _adapted_edges(walk, proposal, asset.id, caller))
    is_certain = {key: certain or touches_all for key, certain in readers_of(walk, asset.id, columns).items()}
    steps = [step for step in walk.reached if step.asset["id"] in is_certain]
    visible_ids = {asset["id"] for asset in visible_references(caller, (step.asset for step in steps))}
    visible = [(step, is_certain[step.asset["id"]]) for step in steps if step.asset["id"] in visible_ids]
    listed_ids = {step.asset["id"] for step, _ in visible[:_MOST_LISTED]}
    owners = _named_owners(graph.owners(listed_ids), caller) if with_owners else {}
    return _ProposalReaders(
        visible,
        len(steps) - len(visible),
        used_columns(walk.edges, columns),
        owners,
        adapted_assets,
    )


def _adapted_edges(walk: Walk, proposal: ProposedChange, asset_id: str, caller: Caller) -> list[Edge]:
    """Return the edges from the asset to what a proposal adapts; what the caller may not see, they cannot adapt."""
    adapted_names = {name.lower() for name in proposal.adapted}
    edges = [
        edge
        for edge in walk.edges
        if edge.from_["id"] == asset_id and str(edge.to.get("fullyQualifiedName")).lower() in adapted_names
    ]
    visible_ids = {one["id"] for one in visible_references(caller, (edge.to for edge in edges))}
    return [edge for edge in edges if edge.to["id"] in visible_ids]


def _without_adapted(
    walk: Walk, asset_id: str, columns: Collection[str], adapted_edges: Sequence[Edge]
) -> tuple[Walk, list[Document]]:
    """Return a walk without the edges to what is adapted, and what of that reads the columns now."""
    if not adapted_edges or not columns:
        return walk, []
    readers = readers_of(walk, asset_id, columns)
    adapted = [edge.to for edge in adapted_edges if edge.to["id"] in readers]
    return replace(walk, edges=tuple(edge for edge in walk.edges if edge not in adapted_edges)), adapted


def _named_owners(owners: Mapping[str, Sequence[Document]], caller: Caller) -> dict[str, list[Document]]:
    names = with_names([{"id": one["id"], "type": one["type"]} for some in owners.values() for one in some], caller)
    return {asset_id: [names[one["id"]] for one in some] for asset_id, some in owners.items()}


def _readers_json(readers: _ProposalReaders) -> Document:
    data = []
    for step, is_certain in readers.visible[:_MOST_LISTED]:
        asset_id = step.asset["id"]
        reader: Document = {"entity": step.asset, "level": step.level, "isCertain": is_certain}
        reader |= {"affectedColumns": sorted(columns)} if (columns := readers.columns.get(asset_id)) else {}
        data.append(reader | ({"owners": readers.owners[asset_id]} if asset_id in readers.owners else {}))
    return {"total": len(readers.visible) + readers.hidden_count, "hidden": readers.hidden_count, "data": data}


def _with_names(references: Sequence[Document], caller: Caller) -> list[Document]:
    visible = visible_references(caller, references)
    names = with_names(visible, caller)
    return sorted((names[one["id"]] for one in visible), key=lambda one: str(one.get("fullyQualifiedName")))


def _recipients_json(audience: RehearsalAudience, caller: Caller, *, with_names_of_people: bool) -> Document:
    """Return whom changes would notify, as far as the caller may know: as of events that were."""
    is_known = _known_alerts(caller)
    people: dict[str, tuple[RecipientCounts, set[str]]] = {}
    for user_id, counts in audience.people().items():
        if alert_ids := set(filter(is_known, counts.alerts)):
            people[user_id] = (counts, alert_ids)
    addresses = {address: count for address, count in audience.addresses().items() if is_known(address.alert_id)}
    recipients: Document = {
        "people": len(people),
        "addresses": len(addresses),
        "isComplete": caller.actor.is_admin,
    }
    if not with_names_of_people:
        return recipients
    users = with_names([{"id": user_id, "type": "user"} for user_id in people], caller)
    data = [{"user": users[user_id], **_ways_of(*ways)} for user_id, ways in people.items()]
    data.sort(key=lambda recipient: (-recipient["events"], str(recipient["user"].get("name"))))
    data += [
        {"channel": address.channel, "events": count, "alerts": [address.alert], "reasons": []}
        for address, count in sorted(addresses.items())
    ]
    return recipients | {"data": data}


def _ways_of(counts: RecipientCounts, alert_ids: Collection[str]) -> Document:
    """Return how a person would be told, as these alerts state it; that they take messages in a browser is theirs.

    Of how many events other alerts would tell them is not said: then the number is that of the alert with most.
    """
    alerts = [counts.alerts[alert_id] for alert_id in alert_ids]
    is_all = len(alerts) == len(counts.alerts)
    return {
        "events": counts.events if is_all else max(alert.events for alert in alerts),
        "alerts": sorted({alert.name for alert in alerts}),
        "channels": sorted({channel for alert in alerts for channel in alert.channels} - {Channel.PUSH}),
        "reasons": sorted({reason for alert in alerts for reason in alert.reasons}),
    }


def _known_alerts(caller: Caller) -> Callable[[str], bool]:
    """Return whether the caller may know whom an alert notifies, by its id."""
    if caller.actor.is_admin:
        return lambda alert_id: True
    known_ids = {alert.id for alert in editable_alerts(visible_alerts(caller), caller)}
    return known_ids.__contains__

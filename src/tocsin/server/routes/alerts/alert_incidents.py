"""Routes of incidents of what fails: list, figures, read, acknowledge, assign, resolve, comment, merge and the like.

Incidents of test cases are ``server/routes/quality/incidents.py``. Next: ``alerts/incidents.py``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from operator import itemgetter
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import Field

from tocsin.alerts.incident_merging import dismiss_cause, dismissed_causes, merge, restore_cause, split
from tocsin.alerts.incidents import Handling, handle, handling_of, is_last_step
from tocsin.errors import InvalidInput
from tocsin.model.access import Operation
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind, number_in
from tocsin.model.entity import Document
from tocsin.model.severity import Severity
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import require
from tocsin.server.access.similar_names import id_to_filter_by, named_id
from tocsin.server.alerts.hourly_counts import counted_post
from tocsin.server.alerts.incident_figures import FIGURES, figures_json, own_assignees
from tocsin.server.alerts.incident_messages import message_moments
from tocsin.server.alerts.incidents import (
    ROW,
    as_listed,
    causes_json,
    check_may_change,
    dismissed_causes_json,
    found_incident,
    incident_to_change,
    incidents_json,
    moments_of,
    visible_causes,
    visible_incidents,
)
from tocsin.server.alerts.stand_ins import with_stand_in
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, OptionalBody, PathText, QueryParameters, answer
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter
from tocsin.store.database.cursors import cursor_of, not_a_cursor, text_of
from tocsin.store.database.page_bytes import BoundedList

_FAILING = ("testCase", "pipeline", "ingestionPipeline", "table")
"""What fails, and what its tests check."""
_Name = Annotated[str | None, Field(max_length=10_000)]

router = DeclaredRoutes(prefix="/incidents", tags=["incidents"])


class AlertIncidentQuery(QueryParameters):
    """Filters of the list; ``alert``, ``asset`` and ``assignee`` are ids or full names."""

    status: Literal["open", "acknowledged", "resolved", "unresolved"] | None = None
    alert: _Name = Field(default=None, description="Id or name of an alert that watches them.")
    asset: _Name = Field(default=None, description="What failed, or the table that tests check.")
    assignee: _Name = Field(default=None, description="Id or name of a user or team.")
    is_mine: bool = Field(
        default=False, alias="mine", description="Only those assigned to the caller or one of their teams."
    )
    owner: _Name = Field(
        default=None, description="Id or name of who owns what failed, or the table that a test checks."
    )
    is_owned: bool = Field(
        default=False, alias="owned", description="Only those of what the caller or one of their teams owns."
    )
    unattended: bool = Field(default=False, description="Only open ones that nobody acknowledged or is assigned to.")
    severity: Severity | None = Field(default=None, description="How bad they are.")
    limit: int = Field(default=50, ge=1, le=500)
    after: str | None = Field(default=None, max_length=100)

    def filter(self, caller: Caller) -> AlertIncidentFilter:
        """Return the filter for the store."""
        is_status = self.status not in (None, "unresolved")
        return AlertIncidentFilter(
            status=IncidentStatus(self.status) if is_status and self.status else None,
            subscription_id=None if self.alert is None else id_to_filter_by(self.alert, (ROW.name,), caller),
            asset_id=self.asset and named_id(self.asset, _FAILING, caller),
            assignee_ids=_principals(self.assignee, caller, is_own=self.is_mine),
            owner_ids=_principals(self.owner, caller, is_own=self.is_owned),
            unattended=self.unattended,
            unresolved=self.status == "unresolved",
            severity=self.severity,
        )


def _principals(name: str | None, caller: Caller, *, is_own: bool) -> set[str] | None:
    """Return the id of a user or team, and of ``is_own`` only where it is the caller's; None of no filter."""
    chosen_ids = None if name is None else {id_to_filter_by(name, ("user", "team"), caller)}
    if not is_own:
        return chosen_ids
    own_ids = own_assignees(caller)
    return own_ids if chosen_ids is None else chosen_ids & own_ids


@router.get("", openapi_extra=answers("AlertIncidentPage", refuses="404"))
def list_incidents(caller: Asked, query: Annotated[AlertIncidentQuery, Query()]) -> Response:
    """Return incidents, newest first; parts of others only for their alert or asset, or by their number or id."""
    require(caller, Operation.VIEW_BASIC, ROW)
    incident_filter, start = query.filter(caller), _number(query.after)

    def read(last: AlertIncident | None, count: int) -> BoundedList[AlertIncident]:
        return caller.parts.alert_stores.incidents.page(
            incident_filter, limit=count, before=last.number if last else start
        )

    filter_visible = visible_incidents if query.alert or query.asset else as_listed
    page = visible_page(read, partial(filter_visible, caller), query.limit)
    paging = {"after": cursor_of(page.last.name)} if page.last and page.has_more else {}
    return answer({"data": incidents_json(page.entries, caller), "paging": paging})


class FiguresQuery(QueryParameters):
    """How many days the figures are of."""

    days: int = Field(default=30, ge=1, le=90, description="The last days, today among them, in the reader's zone.")


@router.get("/figures", openapi_extra=answers("AlertIncidentFigures", FIGURES))
def read_figures(caller: Asked, query: Annotated[FiguresQuery, Query()]) -> Response:
    """Return how many incidents are open and whose, how many began each day, how long they lasted, what fails often."""
    require(caller, Operation.VIEW_BASIC, ROW)
    return answer(figures_json(query.days, caller))


@router.get("/{incident}", openapi_extra=answers("AlertIncidentWithTimeline"))
def read_incident(incident: PathText, caller: Asked) -> Response:
    """Return an incident, by its number (`INC-7`) or id, with its timeline."""
    return _incident_answer(found_incident(incident, caller), caller)


@router.put("/{incident}/acknowledge", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentComment"))
def acknowledge(incident: PathText, body: OptionalBody, caller: Asked) -> Response:
    """Acknowledge an incident (``comment``)."""
    return _handle_incident(incident, StepKind.ACKNOWLEDGED, body, caller)


@router.put("/{incident}/assign", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentAssignment"))
def assign(incident: PathText, body: OptionalBody, caller: Asked) -> Response:
    """Assign an incident to a user or team (``assignee``, ``comment``).

    Of a person who is away it goes to their substitute, if that one may view the asset; the timeline says so.
    """
    return _handle_incident(incident, StepKind.ASSIGNED, body, caller)


@router.put("/{incident}/resolve", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentResolution"))
def resolve(incident: PathText, body: OptionalBody, caller: Asked) -> Response:
    """Resolve an incident by hand (``reason``, ``comment``); the next failure opens a new one."""
    return _handle_incident(incident, StepKind.RESOLVED, body, caller)


@router.put("/{incident}/comment", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentRemark"))
def comment_on(incident: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Say something about an incident (``comment``), without acknowledging it."""
    return _handle_incident(incident, StepKind.COMMENTED, body, caller)


@router.put("/{incident}/merge", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentMerge"))
def merge_into(incident: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Make an incident part of another one (``into``, ``comment``): changes of that one apply to it as well."""
    part = found_incident(incident, caller)
    check_may_change(part, caller)
    target = found_incident(value_in(body, "into", str, "must be the number or id of an incident"), caller)
    check_may_change(target, caller)
    comment = handling_of(StepKind.MERGED, {key: value for key, value in body.items() if key != "into"}).comment
    with _quota_of(None if part.part_of == target.lead_id else comment, caller):
        caller.parts.writes.within(
            lambda record: merge(record, part.id, target.id, comment=comment), actor=caller.actor
        )
    return _incident_answer(found_incident(part.id, caller), caller)


@router.put("/{incident}/split", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentComment"))
def split_off(incident: PathText, body: OptionalBody, caller: Asked) -> Response:
    """Undo the merge of an incident (``comment``)."""
    part = found_incident(incident, caller)
    check_may_change(part, caller)
    comment = handling_of(StepKind.SPLIT, body).comment
    with _quota_of(None if part.part_of is None else comment, caller):
        caller.parts.writes.within(lambda record: split(record, part.id, comment=comment), actor=caller.actor)
    return _incident_answer(found_incident(part.id, caller), caller)


@router.put("/{incident}/dismiss-cause", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentCause"))
def dismiss_cause_of(incident: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Say that a probable cause (``cause``, ``comment``) did not cause an incident: it is no longer named as such."""
    return _judge_cause(incident, StepKind.NOT_CAUSED, body, caller)


@router.put("/{incident}/restore-cause", openapi_extra=answers("AlertIncidentWithTimeline", reads="IncidentCause"))
def restore_cause_of(incident: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Undo the dismissal of a probable cause (``cause``, ``comment``): it is named again."""
    return _judge_cause(incident, StepKind.CAUSE_RESTORED, body, caller)


def _judge_cause(name: str, kind: StepKind, body: Document, caller: Caller) -> Response:
    effect = found_incident(name, caller)
    check_may_change(effect, caller)
    cause = found_incident(value_in(body, "cause", str, "must be the number or id of an incident"), caller)
    comment = handling_of(kind, {key: value for key, value in body.items() if key != "cause"}).comment
    steps = caller.parts.alert_stores.incidents.steps(effect.lead_id)
    is_dismissed, is_dismissing = cause.lead_id in dismissed_causes(steps, effect.lead_id), kind is StepKind.NOT_CAUSED
    if not is_dismissed:
        _check_is_named(effect, cause, caller)
    judge = dismiss_cause if is_dismissing else restore_cause
    with _quota_of(None if is_dismissed is is_dismissing else comment, caller):
        caller.parts.writes.within(
            lambda record: judge(record, effect.lead_id, cause.lead_id, comment=comment), actor=caller.actor
        )
    return _incident_answer(found_incident(effect.id, caller), caller)


def _check_is_named(effect: AlertIncident, cause: AlertIncident, caller: Caller) -> None:
    """Refuse what is no probable cause of an incident that the caller may view, nor one that such a cause is part of.

    An incident is never its own: ``alerts/incident_merging.py`` says so.
    """
    causes = [one.incident for one in visible_causes(effect, caller)]
    if cause.lead_id not in {effect.lead_id, *(one.id for one in causes), *(one.part_of for one in causes)}:
        raise InvalidInput(f"{cause.name} is not among the probable causes of {effect.name}", field="cause")


def _handle_incident(name: str, kind: StepKind, body: Document, caller: Caller) -> Response:
    incident = found_incident(name, caller)
    target = incident_to_change(incident, caller)
    handling = handling_of(kind, body)
    if kind is StepKind.ASSIGNED:
        handling = with_stand_in(handling, target, caller)
    with _quota_of(None if _is_repeated(handling, target.id, caller) else handling.comment, caller):
        caller.parts.writes.within(lambda record: handle(record, target.id, handling), actor=caller.actor)
    return _incident_answer(found_incident(incident.id, caller), caller)


def _quota_of(comment: str | None, caller: Caller) -> AbstractContextManager[None]:
    """Count a comment as a post; None: there is none, or the request was sent again and writes nothing."""
    return nullcontext() if comment is None else counted_post([comment], caller)


def _is_repeated(handling: Handling, incident_id: str, caller: Caller) -> bool:
    """Return whether the newest step of an incident is this one: then it is not written again."""
    steps = caller.parts.alert_stores.incidents.steps(incident_id)
    if not is_last_step(handling, caller.actor.id, steps):
        return False
    return handling.assignee is None or _names(handling.assignee, steps[-1].assignee or {})


def _names(reference: Document, principal: Document) -> bool:
    """Return whether a reference names a user or team by what it says of them: id, name, full name."""
    keys = reference.keys() & {"id", "name", "fullyQualifiedName"}
    return bool(keys) and all(reference[key] == principal.get(key) for key in keys)


def _incident_answer(incident: AlertIncident, caller: Caller) -> Response:
    (document,) = incidents_json([incident], caller)
    steps = caller.parts.alert_stores.incidents.steps(incident.lead_id)
    messages, is_whole = message_moments(incident, caller)
    moments = sorted([*moments_of(incident, steps, caller), *messages], key=itemgetter("timestamp"))
    causes = {
        "probableCauses": causes_json(incident, caller),
        "dismissedCauses": dismissed_causes_json(incident, steps, caller),
    }
    return answer(document | causes | {"timeline": moments, "isWhole": is_whole})


def _number(cursor: str | None) -> int | None:
    if not cursor:
        return None
    number = number_in(text_of(cursor))
    if number is None:
        raise not_a_cursor(cursor)
    return number

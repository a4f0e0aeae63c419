"""What surrounds what messages tell of, such as failures: earlier ones, what lies downstream, the first message.

One question serves all messages of a claim. Next: ``delivery/channels``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, Engine, Row, Select, literal, select, union_all

from tocsin.chunks import chunks_of
from tocsin.delivery.dispatch import (
    Answered,
    DefinitionRunbook,
    Dispatch,
    FailureContext,
    FailureIncident,
    ProbableCause,
    ToldPeople,
)
from tocsin.delivery.wording.reports import RUN, belongs_to_incident, is_recovery, is_reminder, reported_at_ms
from tocsin.delivery.wording.surroundings import is_deletion, tells_of_failure
from tocsin.flow.resolve.directory import DownstreamStep
from tocsin.model.change import ChangeEvent
from tocsin.model.message import MessageStatus
from tocsin.model.runbook import RUNBOOK
from tocsin.model.status import SUCCESS, is_failure
from tocsin.model.subscription import Channel
from tocsin.store.database.documents import from_text
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import attempt, entity, message, notification
from tocsin.store.outbox.failure_incidents import ReportPlace, incidents_at
from tocsin.store.outbox.run_durations import usual_durations
from tocsin.store.outbox.told_people import told_people
from tocsin.store.recipients.directory import SqlDirectory, full_names_of
from tocsin.store.recipients.related_incidents import Cause, FailureTime, causes_of

_HOPS = 3
_MOST_REPORTS = 500
"""So many reports before a success are looked through."""

_PLACES_EACH = 50
"""Reports of so many assets are read in one statement."""


def place_of(dispatch: Dispatch) -> ReportPlace:
    """Return the place of the report that a message is about."""
    return ReportPlace(dispatch.event.entity_id, dispatch.first.log_offset)


class FailureMessages:
    """The messages of one store that told of failures."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._directory = SqlDirectory(engine)

    def find_answered(self, dispatch: Dispatch) -> Answered | None:
        """Return the first message of these failures to the same recipient; None if there was none, or no recovery."""
        if len(dispatch.entries) > 1 or not is_recovery(dispatch.event):
            return None
        with reading(self._engine) as connection:
            reports = _reports_before(connection, {place_of(dispatch)})
            offsets = [one.offset for one in _since_success(reports)]
            if not offsets:
                return None
            own_recipient = select(message.c.recipient).where(message.c.id == dispatch.message.id).scalar_subquery()
            query = (
                select(message.c.id, attempt.c.remote_id)
                .join(notification, notification.c.message_id == message.c.id)
                .join(attempt, attempt.c.message_id == message.c.id)
                .where(notification.c.log_offset.in_(offsets), message.c.recipient == own_recipient)
                .where(message.c.channel == dispatch.message.channel, message.c.status == MessageStatus.DELIVERED)
                .order_by(notification.c.log_offset, attempt.c.number.desc())
                .limit(1)
            )
            sent_message = connection.execute(query).first()
        return None if sent_message is None else Answered(sent_message.id, sent_message.remote_id)

    def context_of(self, dispatch: Dispatch) -> FailureContext:
        """Return what surrounds the event that a message is about, such as a failure."""
        context = self.contexts_of((dispatch,))[place_of(dispatch)]
        return replace(context, audience=self._told_people((dispatch,)).get(dispatch.first.notification_id))

    def with_contexts(self, dispatches: Sequence[Dispatch], reporting: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Return messages, those of ``reporting`` with what surrounds their events."""
        if not reporting:
            return dispatches
        contexts = self.contexts_of(reporting)
        people, ids = self._told_people(reporting), {one.message.id for one in reporting}

        def with_context(dispatch: Dispatch) -> Dispatch:
            if dispatch.message.id not in ids:
                return dispatch
            context = replace(contexts[place_of(dispatch)], audience=people.get(dispatch.first.notification_id))
            return replace(dispatch, failure=context)

        return list(map(with_context, dispatches))

    def with_contexts_in_digests(self, dispatches: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Return messages, digests by mail with whom their failures were told of, and all downstream, hidden or not.

        What one walk and a few statements read serves all of them.
        """
        failures = {
            entry.notification_id: replace(dispatch, entries=(entry,))
            for dispatch in dispatches
            if dispatch.streaks and dispatch.message.channel == Channel.EMAIL
            for entry in dispatch.entries
            if entry.notification_id in dispatch.streaks and not is_recovery(entry.event)
        }
        if not failures:
            return dispatches
        people = self._told_people(list(failures.values()))
        downstream = self._downstream_of({place_of(one): False for one in failures.values()})

        def with_surroundings(identity: str, streak: FailureContext) -> FailureContext:
            is_failure = identity in failures
            names = downstream[place_of(failures[identity])] if is_failure else ()
            return replace(streak, audience=people.get(identity), downstream=names, is_lineage_read=is_failure)

        def with_streaks(dispatch: Dispatch) -> Dispatch:
            streaks = dispatch.streaks
            return replace(dispatch, streaks={key: with_surroundings(key, streaks[key]) for key in streaks})

        return list(map(with_streaks, dispatches))

    def _told_people(self, dispatches: Sequence[Dispatch]) -> dict[str, ToldPeople]:
        failures = [one for one in dispatches if tells_of_failure(one.event) and not is_recovery(one.event)]
        with reading(self._engine) as connection:
            return told_people(connection, failures)

    def contexts_of(self, dispatches: Iterable[Dispatch]) -> dict[ReportPlace, FailureContext]:
        """Return what surrounds the events of these messages, and all downstream, hidden or not.

        One statement reads the reports of 50 places, and one walk all lineage.
        """
        by_place = {place_of(dispatch): dispatch for dispatch in dispatches}
        recovered_places = {place for place, dispatch in by_place.items() if is_recovery(dispatch.event)}
        with reading(self._engine) as connection:
            streaks = streaks_of(connection, {place: dispatch.event for place, dispatch in by_place.items()})
            incidents = incidents_at(connection, by_place.keys())
            causes = _causes_of(connection, incidents.keys() - recovered_places)
            durations = usual_durations(
                connection, _times_of_runs({place: dispatch.event for place, dispatch in by_place.items()})
            )
            runbooks = _runbooks_of(
                connection, {place: by_place[place].event for place in by_place.keys() - recovered_places}
            )
        downstream = self._downstream_of(
            {place: is_deletion(by_place[place].event) for place in by_place.keys() - recovered_places}
        )
        return {
            place: replace(
                streak,
                downstream=downstream.get(place, ()),
                incident=incident_told(by_place[place].event, incidents.get(place)),
                causes=causes.get(place, ()),
                usual_ms=durations.get(place),
                runbook=runbooks.get(place),
                is_lineage_read=place in downstream,
            )
            for place, streak in streaks.items()
        }

    def streaks(self, events: Mapping[ReportPlace, ChangeEvent]) -> dict[ReportPlace, FailureContext]:
        """Return since when, and how often in a row, the assets of those of these events fail that tell of failures.

        Of one that tells of their end, for how long they did; of a run, how long it usually takes.
        """
        failures = {place: one for place, one in events.items() if tells_of_failure(one)}
        if not failures:
            return {}
        with reading(self._engine) as connection:
            streaks, durations = (
                streaks_of(connection, failures),
                usual_durations(connection, _times_of_runs(failures)),
            )
        return {place: replace(streak, usual_ms=durations.get(place)) for place, streak in streaks.items()}

    def incidents_and_runbooks(
        self, events: Mapping[ReportPlace, ChangeEvent]
    ) -> tuple[dict[ReportPlace, FailureIncident], dict[ReportPlace, DefinitionRunbook]]:
        """Return the incidents of those of these events that tell of failures, and runbooks of definitions of tests.

        Runbooks are hidden or not; incidents as they are now.
        """
        failures = {place: one for place, one in events.items() if belongs_to_incident(one)}
        if not failures:
            return {}, {}
        with reading(self._engine) as connection:
            return incidents_at(connection, failures.keys()), _runbooks_of(connection, failures)

    def _downstream_of(self, are_deletions: Mapping[ReportPlace, bool]) -> dict[ReportPlace, tuple[str, ...]]:
        """Return the full names of what lay downstream of the asset at each place, the closest first.

        What was soft-deleted there is not named, nor what lay behind it; nor what is deleted now, except where the
        asset itself was deleted: then it is what lay downstream until then.
        """
        if not are_deletions:
            return {}
        steps = list(self._directory.reach({place.entity_id for place in are_deletions}, _HOPS, only_live=True))
        steps_by_root: dict[str, list[DownstreamStep]] = defaultdict(list)
        with reading(self._engine) as connection:
            deleted_ids = _soft_deleted_ids(connection, {step.node_id for step in steps})
        for step in sorted(steps, key=lambda one: (one.hops, one.node_fqn)):
            if step.hops:
                steps_by_root[step.root_id].append(step)
        names: dict[ReportPlace, tuple[str, ...]] = {}
        for place, is_of_deletion in are_deletions.items():
            steps = steps_by_root[place.entity_id]
            steps_then = (step for step in steps if step.since_offset <= place.offset <= step.until_offset)
            names[place] = tuple(
                dict.fromkeys(step.node_fqn for step in steps_then if is_of_deletion or step.node_id not in deleted_ids)
            )
        return names


def incident_told(event: ChangeEvent, incident: FailureIncident | None) -> FailureIncident | None:
    """Return the incident at an event that a message names: of a recovery that which it has resolved."""
    return incident if incident is None or incident.is_resolved or not is_recovery(event) else None


def _soft_deleted_ids(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of these entities that are soft-deleted now."""
    deleted_entities = select(entity.c.id).where(entity.c.deleted)
    return {row.id for row in rows_by_key(connection, deleted_entities, entity.c.id, ids)}


def _causes_of(connection: Connection, places: Collection[ReportPlace]) -> dict[ReportPlace, tuple[ProbableCause, ...]]:
    """Return what probably caused the failures at these places, hidden or not."""
    times = {place: FailureTime(place.entity_id, place.offset) for place in places}
    causes = causes_of(connection, set(times.values())) if times else {}
    ids = {one for many in causes.values() for cause in many for one in (cause.incident.entity_id, cause.asset_id)}
    names = full_names_of(connection, ids) if ids else {}

    def probable(cause: Cause) -> ProbableCause:
        failing, asset = (names.get(one, "") for one in (cause.incident.entity_id, cause.asset_id))
        return ProbableCause(cause.incident.name, failing, asset)

    return {place: tuple(map(probable, causes[time])) for place, time in times.items()}


def _runbooks_of(
    connection: Connection, events: Mapping[ReportPlace, ChangeEvent]
) -> dict[ReportPlace, DefinitionRunbook]:
    """Return the runbooks of the definitions of tests that fail and have none of their own, hidden or not."""
    documents = {place: event.entity or {} for place, event in events.items() if tells_of_failure(event)}
    definition_ids = {
        place: document["testDefinition"]["id"]
        for place, document in documents.items()
        if RUNBOOK not in document and "id" in (document.get("testDefinition") or {})
    }
    if not definition_ids:
        return {}
    query = select(entity.c.id, entity.c.fqn, entity.c.document)
    runbooks = {
        row.id: DefinitionRunbook(row.fqn, runbook)
        for row in rows_by_key(connection, query, entity.c.id, set(definition_ids.values()))
        if (runbook := from_text(row.document).get(RUNBOOK))
    }
    return {place: runbooks[one] for place, one in definition_ids.items() if one in runbooks}


def _times_of_runs(events: Mapping[ReportPlace, ChangeEvent]) -> dict[ReportPlace, int]:
    """Return when the runs began that some of these events report."""
    return {
        place: reported_at_ms(event)
        for place, event in events.items()
        if event.change_description and RUN in event.change_description.paths()
    }


class _Reported(NamedTuple):
    place: ReportPlace
    offset: int
    at_ms: int | None
    verdict: str | None

    @property
    def has_failed(self) -> bool:
        return self.verdict is not None and is_failure(self.verdict)


def streaks_of(connection: Connection, events: Mapping[ReportPlace, ChangeEvent]) -> dict[ReportPlace, FailureContext]:
    """Return of each of these events since when its asset fails or has failed, how often, and the last success."""
    reports: dict[ReportPlace, list[_Reported]] = {place: [] for place in events}
    for report in _reports_before(connection, events.keys()):
        reports[report.place].append(report)
    return {place: _streak_of(event, reports[place]) for place, event in events.items()}


def _streak_of(event: ChangeEvent, reports: Sequence[_Reported]) -> FailureContext:
    """Return that of a failure, a reminder or the success that ends it, from the reports before, newest first.

    A failure that is reported counts with those before it.
    """
    failures = [one for one in _since_success(reports) if one.has_failed]
    last_success_ms = next((one.at_ms for one in reports if one.verdict == SUCCESS), None)
    has_ended = is_recovery(event)
    count = len(failures) + (not has_ended and not is_reminder(event))
    return FailureContext(
        since_ms=failures[-1].at_ms if failures else None,
        count=count,
        last_success_ms=last_success_ms,
        ended_ms=reported_at_ms(event) if has_ended else None,
    )


def _since_success(reports: Iterable[_Reported]) -> Iterator[_Reported]:
    for report in reports:
        if report.verdict == SUCCESS:
            return
        yield report


def _reports_before(connection: Connection, places: Collection[ReportPlace]) -> Iterator[_Reported]:
    """Yield what was reported before each of these places, newest first, at most so much of each."""
    for chunk in chunks_of(sorted(places), _PLACES_EACH):
        latest = (_latest_before(place).subquery() for place in chunk)
        queries = [select(one) for one in latest]
        query = union_all(*queries) if len(queries) > 1 else queries[0]
        for row in sorted(connection.execute(query), key=lambda row: -int(row.log_offset)):
            yield _report_in(row)


def _latest_before(place: ReportPlace) -> Select[int, str | None, int | None, str, int]:
    report = status_report.c
    columns = (report.log_offset, report.verdict, report.reported_at_ms)
    place_columns = (literal(place.entity_id).label("entity_id"), literal(place.offset).label("before"))
    query = select(*columns, *place_columns).where(
        report.entity_id == place.entity_id, report.log_offset < place.offset
    )
    return query.order_by(report.log_offset.desc()).limit(_MOST_REPORTS)


def _report_in(row: Row[int, str | None, int | None, str, int]) -> _Reported:
    return _Reported(ReportPlace(row.entity_id, row.before), row.log_offset, row.reported_at_ms, row.verdict)

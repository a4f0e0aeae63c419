"""Events of scheduled checks: what is still so of an asset at a time of a schedule.

The entity keeps its version, because nobody changed it. An event's id is derived from the asset, the schedule and its
time, so it is written only once. Next: ``jobs/scheduled_checks.py``, which finds the assets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import uuid5

from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Ids, Record
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan
from tocsin.model.change import (
    IS_CUT,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    ChangeDescription,
    EventType,
    FieldChange,
    LoggedEvent,
)
from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Stored

_AFTER_ALL = 2**53
"""An offset after all others: the event that is about to be written follows every alert's creation."""


@dataclass(frozen=True)
class DueCheck:
    """A time of a schedule, in epoch milliseconds, and the plans of the alerts that ask for the state at that time.

    ``is_cut``: it found more assets than it names.
    """

    schedule_id: str
    due_at_ms: int
    plans: tuple[Plan, ...]
    is_cut: bool = False

    @property
    def stale_ms(self) -> tuple[int, ...]:
        """Return the times without success that the alerts ask for, in milliseconds."""
        states = {state for plan in self.plans for state in plan.states if state.startswith(STILL_STALE)}
        return tuple(sorted(int(state.partition(":")[2]) for state in states))

    @property
    def reads_reports(self) -> bool:
        """Return whether the alerts ask for what tests and runs report."""
        return any(plan.states - {STILL_WITHOUT_OWNER} for plan in self.plans)

    def event_id(self, entity_id: str) -> str:
        """Return the id of the event that says what was found of an entity: the same whenever it is looked for."""
        return str(uuid5(NAMESPACE, f"check|{self.schedule_id}|{self.due_at_ms}|{entity_id}"))


@dataclass(frozen=True)
class AssetState:
    """What Spark has found of an asset.

    Attributes
    ----------
    entity_id, entity_type : the asset
    is_failing : whether its newest verdict is a failure
    failures : failures in a row, 0 for none
    since_ms : its last success, or its first report if it has had none; None without reports
    may_lack_owner : whether it has no owner of its own and may inherit none
    """

    entity_id: str
    entity_type: str
    is_failing: bool
    failures: int
    since_ms: int | None
    may_lack_owner: bool


def matching_checks(
    writes: EntityWrites, assets: Sequence[AssetState], checks: Sequence[DueCheck]
) -> list[tuple[AssetState, DueCheck]]:
    """Return for which of these assets some alert of which check asks; nothing is written."""

    def work(record: Record) -> list[tuple[AssetState, DueCheck]]:
        pairs = [
            (asset, check)
            for asset in assets
            for entity in _live(record, asset)
            for check in checks
            if _add(record, entity, asset, check)
        ]
        record.events.clear()
        return pairs

    return writes.within(work, actor=SYSTEM)


def add_checks(
    writes: EntityWrites, assets: Sequence[AssetState], checks: Sequence[DueCheck], logged_ids: Collection[str]
) -> int:
    """Put the events of these checks on the assets that some alert asks for, in one transaction; return their number.

    Those of ``logged_ids`` are in the log.
    """

    def work(record: Record) -> int:
        return sum(
            _add(record, entity, asset, check)
            for asset in assets
            for entity in _live(record, asset)
            for check in checks
            if check.event_id(asset.entity_id) not in logged_ids
        )

    return writes.within(work, actor=SYSTEM)


def _live(record: Record, asset: AssetState) -> Iterator[Stored]:
    entity = record.transaction.find(asset.entity_type, Key.by_id(asset.entity_id), Hold.SHARED)
    if entity is not None and not entity.is_deleted:
        yield entity


def _add(record: Record, entity: Stored, asset: AssetState, check: DueCheck) -> bool:
    """Write what was found, unless it is nothing that an alert of the check asks for."""
    facts_by_state = dict(_states_of(record, entity, asset, check))
    if not facts_by_state:
        return False
    common: Document = {"schedule": check.schedule_id, "timestamp": record.at_ms}
    if check.is_cut:
        common[IS_CUT] = True
    changes = (FieldChange(name=name, new_value=common | facts) for name, facts in facts_by_state.items())
    ids = Ids(record.ids.entity, lambda: check.event_id(asset.entity_id))
    noting = replace(record, at_ms=check.due_at_ms, ids=ids)  # appends to the events of ``record``
    noting.note(entity, ChangeDescription().with_changes(*changes), event_type=EventType.SCHEDULED_CHECK)
    captured_event = record.events[-1]
    logged_event = LoggedEvent(_AFTER_ALL, captured_event.event, captured_event.derived)
    if any(matches(plan, logged_event) for plan in check.plans):
        return True
    record.events.pop()
    return False


def _states_of(record: Record, entity: Stored, asset: AssetState, check: DueCheck) -> Iterator[tuple[str, Document]]:
    """Yield what is still so, with its facts."""
    since = {} if asset.since_ms is None else {"since": asset.since_ms}
    if asset.is_failing:
        yield STILL_FAILING, since | {"failures": asset.failures}
    if asset.since_ms is not None:
        lasted_ms = record.at_ms - asset.since_ms
        asked_ms = [duration_ms for duration_ms in check.stale_ms if duration_ms <= lasted_ms]
        if asked_ms:
            yield STILL_STALE, since | {"withoutSuccess": lasted_ms, "asked": asked_ms}
    if asset.may_lack_owner and not record.as_read(entity).get("owners"):
        yield STILL_WITHOUT_OWNER, {}

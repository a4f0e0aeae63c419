"""Events of other systems as writes of a bot: each once, in the order in which they arrive, many in one transaction.

The transaction that applies an event also records it, so a sender that repeats it after a crash is told ``duplicate``.
An event that is older than one of its source about the same entity is ``stale``.
Next: ``catalogue/ingest/apply.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from tocsin.catalogue.ingest.apply import apply_request
from tocsin.catalogue.ingest.requests import ChangeRequest, EventArrival, EventOrigin, origin_of, parse_request
from tocsin.catalogue.writes import BulkWrites
from tocsin.chunks import chunks_of
from tocsin.errors import TocsinError
from tocsin.flow.capture.bulk import probable_fqn
from tocsin.flow.capture.ports import BatchedTransaction
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.ingested import IngestedEvent, event_key
from tocsin.model.people import Actor
from tocsin.model.stored import Written

CHUNK = 50
"""Events of one transaction: other writers get their turn between two of them."""

_DAY_MS = 86_400_000
_FORGOTTEN_PER_EVENT = 2
"""Old rows that are removed for each new one, so that their number goes down."""


class IngestState(StrEnum):
    """What an event of another system came to."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    STALE = "stale"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True)
class IngestResult:
    """What an event of another system came to, and why.

    ``written`` is what it changed, ``error`` why it was refused; ``origin`` and ``request`` are None where it says
    neither.
    """

    state: IngestState
    origin: EventOrigin | None = None
    request: ChangeRequest | None = None
    written: Written | None = None
    error: TocsinError | None = None


@dataclass(frozen=True)
class IngestRules:
    """What holds for all events.

    Attributes
    ----------
    own_sources : the ``source`` of events that Tocsin has sent itself
    keep_days : for how long it is known that an event was applied after a later one of the same entity was
    """

    own_sources: frozenset[str] = frozenset()
    keep_days: float = 30.0


@dataclass
class _Memory:
    """What is known of a transaction's events: those applied before or in it, and the latest time per entity."""

    keys: set[str]
    newest: dict[str, int]
    looked_up: set[str]
    own_ids: set[str] = field(default_factory=set)
    applied: list[IngestedEvent] = field(default_factory=list)


class _Stale(TocsinError):
    """A later event of this source about this entity was applied before."""


class IngestWrites(BulkWrites):
    """Events of other systems, applied with the rights of the bot that sends them."""

    def ingest(
        self,
        events: Sequence[tuple[object, EventArrival]],
        *,
        actor: Actor,
        rules: IngestRules,
        dry_run: bool = False,
    ) -> list[IngestResult]:
        """Apply events, each on its own, and return what each came to; ``dry_run`` keeps nothing."""
        results = [_read(document, arrival, rules) for document, arrival in events]
        numbers = [number for number, result in enumerate(results) if result.state is IngestState.APPLIED]
        for chunk in [numbers] if dry_run and numbers else chunks_of(numbers, CHUNK):
            write_rows = partial(self._chunk_of, actor=actor, rules=rules)
            outcomes = self.write_with_retries(write_rows, [results[number] for number in chunk], dry_run=dry_run)
            for number, outcome in zip(chunk, outcomes, strict=True):
                results[number] = _refusal(results[number], outcome) if isinstance(outcome, TocsinError) else outcome
        return results

    def _chunk_of(
        self, batch: BatchedTransaction, readings: Sequence[IngestResult], *, actor: Actor, rules: IngestRules
    ) -> list[IngestResult | TocsinError]:
        requests = [reading.request for reading in readings if reading.request is not None]
        batch.ingested_events.hold({event_key(actor.id, request.origin.source) for request in requests})
        keys, entity_keys = zip(*(_keys_of(request, actor) for request in requests), strict=True)
        memory = _Memory(
            batch.ingested_events.known_keys(set(keys)),
            batch.ingested_events.newest(set(entity_keys)),
            set(entity_keys),
            batch.ingested_events.own_ids({request.origin.id for request in requests}),
        )
        for entity_type in {request.entity_type for request in requests}:
            batch.look_ahead(entity_type, [_about(one) for one in requests if one.entity_type == entity_type])
        results = [self._apply(batch, request, actor, memory) for request in requests]
        if memory.applied:
            now_ms = self._clock.now_ms()
            batch.ingested_events.add(memory.applied, now_ms)
            limit = _FORGOTTEN_PER_EVENT * len(memory.applied)
            batch.ingested_events.forget(now_ms - int(rules.keep_days * _DAY_MS), limit)
        return results

    def _apply(
        self, batch: BatchedTransaction, request: ChangeRequest, actor: Actor, memory: _Memory
    ) -> IngestResult | TocsinError:
        key, entity_key = _keys_of(request, actor)
        result = IngestResult(IngestState.APPLIED, request.origin, request)
        if key in memory.keys:
            return replace(result, state=IngestState.DUPLICATE)
        if request.origin.id in memory.own_ids:
            return replace(result, state=IngestState.IGNORED)
        if request.fqn is not None and _is_stale(request, entity_key, memory):
            return replace(result, state=IngestState.STALE)
        check_order = partial(_check_order, batch, memory, request, actor)
        write_result = self.write_row(batch, partial(apply_request, request=request, check_order=check_order), actor)
        if isinstance(write_result, _Stale):
            return replace(result, state=IngestState.STALE)
        if isinstance(write_result, TocsinError):
            return write_result
        if request.fqn is None:
            entity_key = _entity_key(request, actor, write_result.document["fullyQualifiedName"])
        newest_ms = memory.newest.get(entity_key)
        times = [at_ms for at_ms in (request.at_ms, newest_ms) if at_ms is not None]
        memory.keys.add(key)
        memory.newest |= {entity_key: max(times)} if times else {}
        memory.applied.append(
            IngestedEvent(
                key,
                entity_key,
                actor.id,
                request.origin.source,
                request.origin.id,
                request.author,
                write_result.event.id if write_result.event else None,
                max(times, default=None),
                self._clock.now_ms(),
            )
        )
        is_new = write_result.event is not None or bool(write_result.cascaded)
        return replace(result, state=IngestState.APPLIED if is_new else IngestState.UNCHANGED, written=write_result)


def _read(document: object, arrival: EventArrival, rules: IngestRules) -> IngestResult:
    """Return what an event asks for, as if it were applied; or why it is not."""
    origin = None
    try:
        origin = origin_of(document, arrival)
        if is_own(origin.source, rules.own_sources):
            return IngestResult(IngestState.IGNORED, origin)
        assert isinstance(document, dict), "checked by origin_of"  # noqa: S101
        return IngestResult(IngestState.APPLIED, origin, parse_request(document, origin, arrival))
    except TocsinError as refused:
        return IngestResult(IngestState.REFUSED, origin, error=refused)


def outcome_counts(results: Iterable[IngestResult]) -> Counter[tuple[str, str]]:
    """Return how many events came to each state, those that were refused by the code of their error."""
    return Counter((result.state.value, result.error.code if result.error else "") for result in results)


def is_own(source: str, own_sources: Collection[str]) -> bool:
    """Return whether a source is this Tocsin."""
    return source.rstrip("/") in own_sources


def _refusal(reading: IngestResult, error: TocsinError) -> IngestResult:
    return replace(reading, state=IngestState.REFUSED, error=error)


def _check_order(batch: BatchedTransaction, memory: _Memory, request: ChangeRequest, actor: Actor, fqn: str) -> None:
    """Refuse an event about the entity of this FQN that is older than one of its source that was applied.

    Raises
    ------
    _Stale : it is
    """
    entity_key = _entity_key(request, actor, fqn)
    if entity_key not in memory.looked_up:
        memory.looked_up.add(entity_key)
        memory.newest = batch.ingested_events.newest({entity_key}) | memory.newest
    if _is_stale(request, entity_key, memory):
        raise _Stale("a later event of this source about this entity was applied before")


def _is_stale(request: ChangeRequest, entity_key: str, memory: _Memory) -> bool:
    newest_ms = memory.newest.get(entity_key)
    return request.at_ms is not None and newest_ms is not None and request.at_ms < newest_ms


def _keys_of(request: ChangeRequest, actor: Actor) -> tuple[str, str]:
    origin = request.origin
    return (
        event_key(actor.id, origin.source, origin.id),
        _entity_key(request, actor, _about(request)),
    )


def _entity_key(request: ChangeRequest, actor: Actor, fqn: str) -> str:
    return event_key(actor.id, request.origin.source, request.entity_type, fqn)


def _about(request: ChangeRequest) -> str:
    """Return the FQN of the entity that a request is about, as far as it can be told without the store."""
    if request.fqn is not None or request.entity is None:
        return request.fqn or ""
    parents = {
        key: value.get("fullyQualifiedName") if isinstance(value, dict) else value
        for key, value in request.entity.items()
    }
    return probable_fqn(ENTITY_TYPES[request.entity_type], parents) or str(request.entity.get("name"))

"""Bulk writes of thousands of entities, in chunks of one transaction each; a rejected row fails alone.

Each row is handled as a single PUT (``flow/capture/upsert.py``) and makes the same version and event. Many rows of a
chunk in one container are told as one (``flow/capture/imports.py``). A chunk that conflicts with a concurrent write is
retried by halves. Next: ``store/catalogue/entities/batch.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from tocsin.clock import Clock
from tocsin.errors import TocsinError
from tocsin.flow.capture.authorization import Permits, in_place, permit_everything
from tocsin.flow.capture.bounds import BOUNDS, Bounds, size_of
from tocsin.flow.capture.imports import BulkImports
from tocsin.flow.capture.operations import new_entity_id, new_event_id
from tocsin.flow.capture.ports import BatchedCatalogue, BatchedTransaction, Collision, MustWriteError
from tocsin.flow.capture.upsert import create, kind_of, put
from tocsin.flow.capture.write import Ids, Record, Rules
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.people import Actor
from tocsin.model.stored import Written

Outcome = Written | TocsinError
"""What one row came to: written (or found as it should be), or why not."""

T = TypeVar("T")
Result = TypeVar("Result")

_Row = Callable[[Record, str, Document], Written]
WriteRows = Callable[[BatchedTransaction, Sequence[T]], list[Result | TocsinError]]
"""Writes the rows of one transaction, each on its own."""


class _RehearsedBatchError(Exception):
    """A rehearsal is over: what was written is taken back."""


class EntityBulkWrites:
    """Creates and puts many entities of one type; its outcomes are in the order of the requests."""

    rules = Rules()

    def __init__(
        self,
        catalogue: BatchedCatalogue,
        clock: Clock,
        new_id: Callable[[], str] = new_entity_id,
        *,
        permits: Permits = permit_everything,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._bounds = bounds
        self._catalogue = catalogue
        self._clock = clock
        self._permits = permits
        self._ids = Ids(new_id, new_event_id)

    def create(
        self, entity_type: str, requests: Sequence[Document], *, actor: Actor, dry_run: bool = False
    ) -> list[Outcome]:
        """Create entities, each as ``Writes.create`` does; ``dry_run`` only returns the would-be results."""
        return self._write(create, entity_type, requests, actor=actor, dry_run=dry_run)

    def put(
        self,
        entity_type: str,
        requests: Sequence[Document],
        *,
        actor: Actor,
        dry_run: bool = False,
        overrides: bool = False,
    ) -> list[Outcome]:
        """Create or update entities, each as ``Writes.upsert`` does; ``dry_run`` only returns the would-be results."""
        row = partial(put, overrides=overrides)
        return self._write(row, entity_type, requests, actor=actor, dry_run=dry_run)

    def _write(
        self, row: _Row, entity_type: str, requests: Sequence[Document], *, actor: Actor, dry_run: bool
    ) -> list[Outcome]:
        kind = kind_of(entity_type)
        self._bounds.write_counts.check(actor)

        def write_rows(batch: BatchedTransaction, chunk: Sequence[Document]) -> list[Outcome]:
            fqns = (probable_fqn(kind, request) for request in chunk if isinstance(request, dict))
            batch.look_ahead(kind.name, filter(None, fqns))
            imports = BulkImports(kind, chunk, self._ids.event)
            works = (
                _work(row, kind.name, request, imports=imports, event_id=event_id)
                for request, event_id in zip(chunk, imports.event_ids, strict=True)
            )
            outcomes = [self.write_row(batch, work, actor) for work in works]
            self.write_row(batch, imports.tell, actor)
            return outcomes

        outcomes: list[Outcome] = []
        # What is taken back cannot be built upon, so a rehearsal is one chunk.
        for chunk in [requests] if dry_run else _chunks(requests, self._bounds):
            outcomes += self.write_with_retries(write_rows, chunk, dry_run=dry_run)
        return outcomes

    def write_with_retries(
        self, write_rows: WriteRows[T, Result], requests: Sequence[T], *, dry_run: bool
    ) -> list[Result | TocsinError]:
        """Write a chunk; when it collides, each half of it by itself; a row that collides by itself, once more."""
        try:
            return self._chunk(write_rows, requests, dry_run=dry_run)
        except Collision:  # the earlier writer has committed by now
            if half := len(requests) // 2:
                halves = (requests[:half], requests[half:])
                return [
                    outcome for part in halves for outcome in self.write_with_retries(write_rows, part, dry_run=dry_run)
                ]
        try:
            return self._chunk(write_rows, requests, dry_run=dry_run)
        except Collision as collision:
            return [collision]

    def _chunk(
        self, write_rows: WriteRows[T, Result], requests: Sequence[T], *, dry_run: bool
    ) -> list[Result | TocsinError]:
        if not dry_run:
            with self._catalogue.batch() as batch:
                return write_rows(batch, requests)
        with suppress(MustWriteError), self._catalogue.rehearsal() as batch:
            return write_rows(batch, requests)
        outcomes: list[Result | TocsinError] = []
        with suppress(_RehearsedBatchError), self._catalogue.batch() as batch:
            outcomes += write_rows(batch, requests)
            raise _RehearsedBatchError
        return outcomes

    def write_row(
        self, batch: BatchedTransaction, work: Callable[[Record], Result], actor: Actor
    ) -> Result | TocsinError:
        """Do one write of many; one that is refused leaves nothing behind.

        Raises
        ------
        Collision : another transaction wrote the same row at the same time
        """
        try:
            with batch.row():
                permit = in_place(self._permits(actor), batch)
                record = Record(batch, actor, self._clock.now_ms(), self._ids, permit, self._bounds, self.rules)
                written = work(record)
                batch.append(record.events)
                self._bounds.write_counts.add(actor, record.events)  # of a rehearsal, too: it takes as long
        except Collision:
            raise
        except TocsinError as refused:
            return refused
        return written


def _work(
    row: _Row, entity_type: str, request: Document, *, imports: BulkImports, event_id: str | None
) -> Callable[[Record], Written]:
    def work(record: Record) -> Written:
        record.import_id, record.import_type = event_id, entity_type
        written = row(record, entity_type, request)
        imports.note_parts(record)
        return written

    return work


def _chunks(requests: Sequence[Document], bounds: Bounds) -> Iterator[Sequence[Document]]:
    """Yield the requests in chunks of so many rows and bytes, so that other writers get their turn between them."""
    begin, size = 0, 0
    for at, request in enumerate(requests):
        row_bytes = size_of(request)
        if at > begin and (at - begin == bounds.chunk_rows or size + row_bytes > bounds.document_bytes):
            yield requests[begin:at]
            begin, size = at, 0
        size += row_bytes
    if requests:
        yield requests[begin:]


def probable_fqn(kind: EntityType, request: Document) -> str | None:
    """Return the FQN that a request will most likely have, as far as it can be derived without the store."""
    name = request.get("name")
    if not isinstance(name, str):
        return None
    parent = next((request[place.field] for place in kind.places if request.get(place.field)), None)
    if parent is None and (kind.may_stand_alone or not kind.places):
        return fqn.quote(name)
    return fqn.child(f"{parent}.{kind.infix}" if kind.infix else parent, name) if isinstance(parent, str) else None

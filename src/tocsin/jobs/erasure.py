"""Erasure of a person: store, lake and search index are rewritten without what identifies them, until none is left.

The user is hard-deleted. The pipeline first reads what was logged before that, so that it writes nothing about them
later. Then the store is rewritten until a pass finds nothing, and the lake on Spark, whose old files go at once. A run
that was interrupted is started again from the beginning. Next: ``model/erasure.py``,
``store/upkeep/erasure/rewriting.py``.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from urllib.parse import quote

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Engine

from tocsin.catalogue.writes import Writes
from tocsin.errors import Forbidden, Unavailable
from tocsin.flow.eventlog.lake import ALWAYS, Segment
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.jobs import search_rebuild
from tocsin.jobs.lake import LakeParts, grow, rewrite_segment
from tocsin.jobs.requests import ReportProgress, Runner
from tocsin.jobs.search_stream import QUERY_NAME as SEARCH_STREAM
from tocsin.model.entity import Document
from tocsin.model.erasure import Erasure, PersonalIdentity, Pseudonymizer
from tocsin.model.people import Actor
from tocsin.model.spellings import spelling_pattern
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.spark.lake import lake_events
from tocsin.spark.schema import EVENTS, NUMBER, struct_of
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.erasure.requests import Erasures
from tocsin.store.upkeep.erasure.rewriting import STEPS, Rewriting

MOST_PASSES = 5
"""Passes over store and lake after which it is given up: something writes the person's name again and again."""

READERS = (MATCH_STREAM, SEARCH_STREAM)
"""The queries that write names from the log."""

_LOOK_EVERY_S = 0.5
_COUNT = struct_of(("changed", NUMBER))
_ARROW_COUNT = pa.schema([("changed", pa.int64())])
_OUT_OF_REACH = (
    "messages that were sent",
    "records in topics of brokers, and what consumers made of events",
    "backups and copies of the lake made before",
    "log files of the processes",
)


@dataclass(frozen=True)
class ErasureParts:
    """What erasures are made of, over the lake and the store behind ``engine``.

    ``patience_s`` is how long a query of the pipeline may take to read what was logged before the request.
    """

    engine: Engine
    lake: LakeParts
    url: str
    patience_s: float = 600.0


def runner(settings: Settings, lake: LakeParts, engine: Engine) -> Runner[Erasure]:
    """Wire the runner of requested erasures."""
    parts = ErasureParts(engine, lake, settings.store_url())

    def compute(request: Erasure, report: ReportProgress) -> Document:
        return erase(request, parts, report)

    return Runner("erasure", lake.session, Erasures(engine), ScheduledJobs(engine), compute, lake.clock)


def erase(request: Erasure, parts: ErasureParts, report: ReportProgress) -> Document:
    """Erase the person, and return the certificate; of a dry run, how much there is to be rewritten.

    Raises
    ------
    Conflict : a legal hold is in force
    Forbidden : who requested it is no administrator any more
    Unavailable : the pipeline does not get on, or something writes about them again and again
    """
    erasures = Erasures(parts.engine)
    if request.is_dry:
        identity = request.identity or PersonalIdentity(request.user_id, frozenset(), frozenset())
        counts = _store_pass(Rewriting(parts.engine, identity, is_dry=True), report)
        in_lake = Counter({segment.id: count for segment, count in _lake_counts(parts.lake, identity)})
        return _facts(identity, counts, in_lake)
    erasures.renew_identity(request)
    _delete_user(request, parts)
    identity = erasures.renew_identity(request)  # nobody changes the user any more
    end = EventLog(parts.engine).readable_end()
    _wait_for_readers(parts, end)
    counts, in_lake = _rewrite_everything(parts, identity, report)
    _remove_old_files(parts.lake)
    search_entry_count = search_rebuild.rebuild(parts.lake.session, parts.engine, parts.url, lambda _done, _total: None)
    erasures.forget_identity(request.user_id)
    return {
        **_facts(identity, counts, in_lake),
        "searchEntries": search_entry_count.written,
        "throughOffset": end,
        "sentMessages": erasures.sent_counts(request.user_id),
        "outOfReach": list(_OUT_OF_REACH),
    }


def _delete_user(request: Erasure, parts: ErasureParts) -> None:
    """Hard-delete the user unless that was done before."""
    people = People(parts.engine)
    if people.by_id(request.user_id) is not None:
        requester = people.by_id(request.requested_by)
        if requester is None or requester.deleted or not requester.is_admin:  # of two who erase each other, one stays
            raise Forbidden("Who requested the erasure is no administrator any more; another one has to request it.")
        actor = Actor(id=requester.id, name=requester.name)
        writes = Writes(SqlCatalogue(parts.engine), parts.lake.clock)
        writes.delete("user", Key.by_id(request.user_id), actor=actor, recursive=True, hard=True)


def _facts(identity: PersonalIdentity, counts: Counter[str], in_lake: Counter[str]) -> Document:
    return {
        "userId": identity.user_id,
        "pseudonym": identity.pseudonym,
        "rewritten": {name: count for name, count in sorted(counts.items()) if count},
        "lake": {"segments": len(in_lake), "events": in_lake.total()},
    }


def _wait_for_readers(parts: ErasureParts, end: int) -> None:
    log, deadline_s = EventLog(parts.engine), time.monotonic() + parts.patience_s
    for name in READERS:
        while (progress := log.progress(name)) < end:
            if time.monotonic() > deadline_s:
                raise Unavailable(
                    f"{name} has read up to offset {progress}, not {end}; request the erasure again later."
                )
            time.sleep(_LOOK_EVERY_S)


def _rewrite_everything(
    parts: ErasureParts, identity: PersonalIdentity, report: ReportProgress
) -> tuple[Counter[str], Counter[str]]:
    """Rewrite store and lake until both name nobody; return the rows by table and the events by segment."""
    counts, in_lake, rewriting = Counter[str](), Counter[str](), Rewriting(parts.engine, identity)
    for _ in range(MOST_PASSES):
        in_store = _store_pass(rewriting, report)
        grow(parts.lake)  # a writer that read before this cannot commit afterwards
        rewritten = _rewrite_lake(parts.lake, identity)
        counts += in_store
        in_lake += rewritten
        if not in_store.total() and not rewritten:
            return counts, in_lake
    raise Unavailable(f"After {MOST_PASSES} passes there is still something: request the erasure again later.")


def _store_pass(rewriting: Rewriting, report: ReportProgress) -> Counter[str]:
    counts: Counter[str] = Counter()
    for step_number, step in enumerate(rewriting.run(), start=1):
        counts += step
        report(step_number, STEPS)
    return counts


def _lake_counts(lake: LakeParts, identity: PersonalIdentity) -> Iterator[tuple[Segment, int]]:
    """Yield the segments with events that name them, and how many there are."""
    for segment in lake.lake.segments():
        events = lake_events(lake.session, lake.place, [segment], ALWAYS)
        counted = in_tasks(events, partial(_count_changes, identity), _COUNT)
        if count := sum(row.changed for row in counted.collect()):
            yield segment, count


def _rewrite_lake(lake: LakeParts, identity: PersonalIdentity) -> Counter[str]:
    """Rewrite each segment that names them, and remove its files; return the events by segment."""
    counts: Counter[str] = Counter()
    for segment, count in _lake_counts(lake, identity):
        events = lake_events(lake.session, lake.place, [segment], ALWAYS)
        rewritten = in_tasks(events, partial(_rewrite_batches, identity), EVENTS)
        if rewrite_segment(lake, rewritten, segment, is_valid=lambda _connection: True) is not None:
            counts[segment.id] = count
    return counts


def _remove_old_files(lake: LakeParts) -> None:
    """Remove the files of everything that is no segment now, at once: who reads or writes one has to begin again."""
    if lake.delta is not None:
        lake.delta.publish(lake.lake.segments, now_ms=lake.clock.now_ms())
    lake.lake.forget(lake.lake.leftovers(before_ms=lake.clock.now_ms() + 1))
    files = lake.place.files()
    present_ids = files.segment_ids()
    listed_ids = lake.lake.listed_ids()  # read after the folders: a new segment is listed before it has one
    for segment_id in present_ids:
        if segment_id not in listed_ids:
            files.remove_segment(segment_id)
    for segment in lake.lake.segments():
        files.remove_strays(segment.id)


def _count_changes(identity: PersonalIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield how many events of each batch name them; runs on executors."""
    changed = [len(_changed_rows(Pseudonymizer(identity), identity, batch)) for batch in batches]
    yield pa.RecordBatch.from_pydict({"changed": changed}, schema=_ARROW_COUNT)


def _rewrite_batches(identity: PersonalIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches with the events that name them rewritten; runs on executors."""
    pseudonymizer = Pseudonymizer(identity)
    for batch in batches:
        changed = _changed_rows(pseudonymizer, identity, batch)
        if changed:
            event_rows = [changed.get(number, row) for number, row in enumerate(batch.to_pylist())]
            batch = pa.RecordBatch.from_pylist(event_rows, schema=batch.schema)
        yield batch


def _changed_rows(
    pseudonymizer: Pseudonymizer, identity: PersonalIdentity, batch: pa.RecordBatch
) -> dict[int, Document]:
    """Return the events of a batch that name them, rewritten, by their place in it."""
    texts = batch.column("event")
    matches = [_holds_words(texts, needle.split()) for needle in identity.needles]
    if not matches:
        return {}
    places = pc.indices_nonzero(reduce(pc.or_, matches))
    candidates = dict(zip(places.to_pylist(), batch.take(places).to_pylist(), strict=True))
    rewritten = {place: _rewritten_row(pseudonymizer, row) for place, row in candidates.items()}
    return {place: row for place, row in rewritten.items() if row != candidates[place]}


def _holds_words(texts: pa.Array, words: list[str]) -> pa.Array:
    """Return of each JSON text whether it holds all of these words, in whatever spelling."""
    patterns = [f"{spelling_pattern(orjson.dumps(word).decode()[1:-1])}|{re.escape(quote(word))}" for word in words]
    return reduce(pc.and_, (pc.match_substring_regex(texts, pattern, ignore_case=True) for pattern in patterns))


def _rewritten_row(pseudonymizer: Pseudonymizer, row: Document) -> Document:
    document = orjson.loads(row["event"])
    rewritten = pseudonymizer.document(document)
    event = row["event"] if rewritten == document else orjson.dumps(rewritten).decode()
    return {**pseudonymizer.derived_fields(row), "event": event}

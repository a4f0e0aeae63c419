"""One run of the mirror: the events of an OpenMetadata since the last one, and now and then all of its lists.

The first run reads the lists: what they hold is history and notifies nobody. Later runs apply events, from a watermark
with an overlap, since an event may be written after a later one; the lists are compared once a day, and when events
cannot be read. Everything may be done again without effect, so a run that was killed is simply followed by another.
Next: ``sources/openmetadata/writing.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from tocsin.chunks import chunks_of
from tocsin.clock import Clock
from tocsin.errors import TocsinError
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.sources.openmetadata.documents import SourceDocument
from tocsin.sources.openmetadata.events import CHANGES, DELETIONS, SourceEvent, events_in_order
from tocsin.sources.openmetadata.kinds import KINDS, fields_of
from tocsin.sources.openmetadata.link_writes import LinkedAsset
from tocsin.sources.openmetadata.links import MirroredLinks
from tocsin.sources.openmetadata.results import MAY_PASS, NameTaken, Occasion, Result
from tocsin.sources.openmetadata.upstream import SourceUnavailable, Upstream
from tocsin.sources.openmetadata.writing import Writer
from tocsin.sources.records import GONE, SourceEntity, SourceState
from tocsin.sources.report import RunReport

OVERLAP_MS = 10 * 60_000
"""How far before the watermark events are read again: they may have come late."""

WINDOW_MS = 60 * 60_000
"""The longest time whose events are asked for at once."""

OLDEST_MS = 24 * 60 * 60_000
"""Events are read from no earlier than this; before it the lists say what there is."""

LINEAGES_AT_ONCE = 5_000
"""Assets whose lineage a run compares, so that events do not wait; the next run goes on."""

LINEAGE_PORTION = 200
"""After so many a run that is killed does not begin again."""

_MOST_FAILED = 5
"""So many lists or lineages may fail in a row before the run ends."""

_DELETED_SHARE = 0.2
_FEW = 5
"""So many deletions are made whatever their share."""

_KINDS = {kind.name: kind for kind in KINDS}
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class RunOptions:
    """How one run is made.

    Attributes
    ----------
    is_dry : nothing is kept
    may_delete : deletions are made however many they are
    is_full : the lists are compared, too, however recently they were
    reconcile_ms : after how long the lists are compared again
    """

    is_dry: bool = False
    may_delete: bool = False
    is_full: bool = False
    reconcile_ms: int = 24 * 60 * 60_000


class Mirror:
    """The mirror of one server; ``progress`` is called with the number of finished and of all types."""

    def __init__(
        self, upstream: Upstream, writer: Writer, clock: Clock, options: RunOptions, progress: Progress | None = None
    ) -> None:
        self._upstream, self._writer, self._clock, self._options = upstream, writer, clock, options
        self._progress = progress or (lambda done, total: None)
        self._failed_lineages = 0

    def run(self) -> RunReport:
        """Make one run and return its report; an error is in it with its place."""
        report = RunReport(self._clock.now_ms(), is_dry=self._options.is_dry)
        self._report, self._writer.remark = report, report.remark
        self._writer.load()
        self._links = MirroredLinks(self._writer, report, may_delete=self._options.may_delete)
        state = self._hide_unmapped(self._without_future(self._writer.records.state()))
        self._links.load()
        is_first = not state.is_loaded
        try:
            state = self._load(state) if is_first else self._follow(state)
            state = self._compare_lineage(state, limit=None if is_first or self._options.is_full else LINEAGES_AT_ONCE)
        except TocsinError as error:
            report.fail(error.message)
            state = self._writer.records.state()
        ended_at_ms = self._clock.now_ms()
        self._save(replace(state, last_run=report.as_document(ended_at_ms=ended_at_ms)))
        return report

    def _without_future(self, state: SourceState) -> SourceState:
        """Return the state without times ahead of this machine's clock, which was set back since.

        The events of the last day are read again, and the lists compared.
        """
        now_ms = self._report.started_at_ms
        loaded_at_ms, mapped_at_ms = min(state.loaded_at_ms, now_ms), min(state.mapped_at_ms, now_ms)
        present = replace(state, loaded_at_ms=loaded_at_ms, mapped_at_ms=mapped_at_ms)
        if max(state.watermark_ms or 0, state.reconciled_at_ms) > now_ms + OVERLAP_MS:
            watermark_ms = None if state.watermark_ms is None else min(state.watermark_ms, now_ms - OLDEST_MS)
            present = replace(present, watermark_ms=watermark_ms, reconciled_at_ms=0)
        if present != state:
            self._save(present)
        return present

    def _hide_unmapped(self, state: SourceState) -> SourceState:
        """Hide what a mapping that was taken back showed; with another mapping the lists are to be compared."""
        mapping = self._writer.mapping.as_document()
        if state.mapping == mapping:
            return state
        if not self._options.is_dry:
            self._writer.hide_unmapped()
        state = replace(state, mapping=mapping, mapped_at_ms=self._report.started_at_ms, reconciled_at_ms=0)
        self._save(state)
        return state

    def _load(self, state: SourceState) -> SourceState:
        """Make the first load, or go on with it."""
        if state.watermark_ms is None:
            now_ms = self._report.started_at_ms
            state = replace(state, watermark_ms=now_ms, loaded_at_ms=now_ms)
            self._save(state)
        is_complete = self._reconcile(state)
        if not is_complete:
            return state
        return self._with_reconciled(replace(state, is_loaded=True))

    def _follow(self, state: SourceState) -> SourceState:
        """Apply the events since the last run, and compare the lists when it is time or events cannot be read."""
        is_due = self._report.started_at_ms - state.reconciled_at_ms >= self._options.reconcile_ms
        try:
            state, has_gap = self._apply_events(state)
        except SourceUnavailable as error:
            self._report.fail(error.message)
            has_gap = False
        if not (is_due or has_gap or self._options.is_full):
            return state
        if not self._reconcile(state):
            return state
        watermark_ms = max(state.watermark_ms or 0, self._report.started_at_ms) if has_gap else state.watermark_ms
        return self._with_reconciled(replace(state, watermark_ms=watermark_ms))

    def _with_reconciled(self, state: SourceState) -> SourceState:
        """Keep that the lists are compared, and that the lineage is to be, if it is not on the way."""
        now_ms, lineage_after = self._report.started_at_ms, state.lineage_after or ""
        mapped_at_ms = state.mapped_at_ms or now_ms  # a store of before lineage was mirrored: what there is is history
        state = replace(state, reconciled_at_ms=now_ms, lineage_after=lineage_after, mapped_at_ms=mapped_at_ms)
        self._save(state)
        return state

    def _compare_lineage(self, state: SourceState, *, limit: int | None) -> SourceState:
        """Compare the lineage of the assets after those that earlier runs compared, so many at most."""
        if state.lineage_after is None:
            return state
        self._links.load_assets()
        after = state.lineage_after
        assets = [asset for source_id, asset in self._links.assets.items() if source_id > after]
        for portion in chunks_of(assets[:limit], LINEAGE_PORTION):
            for asset in portion:
                self._read_edges(asset, max(state.loaded_at_ms, state.mapped_at_ms))
            self._links.remove_gone()
            state = replace(state, lineage_after=portion[-1].source_id)
            self._save(state)
        if limit is None or len(assets) <= limit:
            state = replace(state, lineage_after=None)
        return state

    def _read_edges(self, asset: LinkedAsset, occasion: Occasion | int) -> None:
        """Bring the edges to an asset; an answer that is wrong is an error of this asset only, unless many follow."""
        try:
            answer = self._upstream.lineage(asset.entity_type, asset.source_id)
            if answer is not None:
                self._links.bring_edges(asset, answer, occasion)
            self._failed_lineages = 0
        except TocsinError as error:
            if isinstance(error, MAY_PASS) and not isinstance(error, SourceUnavailable):
                raise
            self._report.fail(f"lineage of {asset.entity_type} {asset.fqn}: {error.message}")
            self._failed_lineages += 1
            if self._failed_lineages >= _MOST_FAILED:
                raise

    def _apply_events(self, state: SourceState) -> tuple[SourceState, bool]:
        """Apply the events since the watermark; return whether some cannot be read, since they are too old."""
        watermark_ms, now_ms = state.watermark_ms or 0, self._report.started_at_ms
        if now_ms - watermark_ms > OLDEST_MS:
            return state, True
        until_ms = watermark_ms
        while until_ms < now_ms:
            since_ms, until_ms = until_ms, min(until_ms + WINDOW_MS, now_ms)
            events = events_in_order(self._upstream.events(since_ms - OVERLAP_MS, until_ms))
            for event in events:
                self._apply(event, state)
            newest_ms = events[-1].timestamp_ms if events else 0
            until_ms = min(max(until_ms, newest_ms), now_ms)  # an older server answers everything since
            state = replace(state, watermark_ms=until_ms)
            self._save(state)
        return state, False

    def _apply(self, event: SourceEvent, state: SourceState) -> None:
        kind = _KINDS.get(event.entity_type)
        if kind is None or event.event_type not in CHANGES | DELETIONS:
            self._report.counts["otherEvents"] += 1
            return
        if self._writer.records.holds_event(event.id):
            self._report.counts["knownEvents"] += 1
            return
        occasion = Occasion(
            is_history=event.timestamp_ms < state.loaded_at_ms,
            event_id=event.id,
            at_ms=event.timestamp_ms,
            author=event.author,
        )
        place = f"event {event.id} ({event.event_type} of {event.entity_type} {event.entity_id})"
        try:
            if event.event_type in DELETIONS:
                self._apply_deletion(event, occasion)
            else:
                self._apply_change(event, kind, occasion)
        except MAY_PASS:
            raise
        except TocsinError as error:
            self._report.fail(f"{place}: {error.message}")

    def _apply_deletion(self, event: SourceEvent, occasion: Occasion) -> None:
        row = self._writer.entities.get(event.entity_id)
        if row is None or event.timestamp_ms < row.updated_at_ms:
            return
        result = self._writer.delete(row, occasion)
        if event.is_for_good:
            self._writer.keep(replace(self._writer.entities[row.source_id], digest=GONE))
        self._report.note(result, row.entity_type, row.entity_id)

    def _apply_change(self, event: SourceEvent, kind: EntityType, occasion: Occasion) -> None:
        row = self._writer.entities.get(event.entity_id)
        if reports := list(event.reports()):
            for report in reports:
                result = self._writer.report(row, report, occasion) if row else Result.UNMAPPED
                self._report.note(result, kind.name, event.entity_id)
            return
        document = event.entity
        has_followers = event.changes_field("followers")
        if document is None or has_followers:
            document = self._upstream.entity(kind.collection, event.entity_id, fields_of(kind))
        else:
            occasion = replace(occasion, managed=event.managed_keys())
        if document is None:
            self._report.counts["goneEntities"] += 1
            return
        source = SourceDocument(kind, {"updatedAt": event.timestamp_ms, **document})
        if self._bring(source, occasion) is not None and occasion.managed is None:
            self._links.bring_followers(source, occasion if has_followers else replace(occasion, is_history=True))
        if event.changes_field("lineage"):
            self._apply_edges(event, occasion)
        self._links.remove_gone()

    def _apply_edges(self, event: SourceEvent, occasion: Occasion) -> None:
        """Bring the edges to an asset, of which an event says that they changed."""
        if event.entity_id not in self._links.assets:
            self._links.load_assets()
        if asset := self._links.assets.get(event.entity_id):
            self._read_edges(asset, occasion)

    def _reconcile(self, state: SourceState) -> bool:
        """Compare all lists; return whether all of them were read to their ends."""
        seen_ids: set[str] = set()
        listed_types: set[str] = set()
        is_complete, failed_in_a_row = True, 0
        for number, kind in enumerate(KINDS):
            self._progress(number, len(KINDS))
            try:
                if self._read_list(kind, seen_ids, state):
                    listed_types.add(kind.name)
                failed_in_a_row = 0
            except SourceUnavailable as error:
                failed_in_a_row += 1
                if failed_in_a_row >= _MOST_FAILED:
                    raise
                self._report.fail(error.message)
                is_complete = False
        self._progress(len(KINDS), len(KINDS))
        self._links.remove_gone()
        if is_complete:
            self._delete_missing(seen_ids, listed_types)
        return is_complete

    def _read_list(self, kind: EntityType, seen_ids: set[str], state: SourceState) -> bool:
        """Bring all entities of a type, and return whether the server has a list of them.

        Those whose parents come later wait for them.
        """
        waiting_sources: list[SourceDocument] = []
        has_list = False
        for page in self._upstream.pages(kind.collection, fields_of(kind)):
            has_list = True
            for document in page:
                source = SourceDocument(kind, document)
                seen_ids.add(source.id)
                if self._bring_listed(source, state) is Result.WAITS:
                    waiting_sources.append(source)
        while waiting_sources:
            still_waiting = [one for one in waiting_sources if self._bring_listed(one, state) is Result.WAITS]
            if len(still_waiting) == len(waiting_sources):
                self._report.counts["parentNotMirrored"] += len(waiting_sources)
                break
            waiting_sources = still_waiting
        return has_list

    def _bring_listed(self, source: SourceDocument, state: SourceState) -> Result | None:
        row = self._writer.entities.get(source.id)
        is_known_state = row is not None and row.updated_at_ms and source.updated_at_ms <= row.updated_at_ms
        is_history = not state.is_loaded or source.updated_at_ms < state.loaded_at_ms or bool(is_known_state)
        occasion = Occasion(is_history=is_history)
        if row is not None and 0 < source.updated_at_ms < row.updated_at_ms < self._report.started_at_ms - OVERLAP_MS:
            occasion = Occasion(is_history=True, at_ms=self._report.started_at_ms, is_return=True)
        result = self._bring(source, occasion)
        if result is not None and result is not Result.WAITS:
            self._links.bring_followers(source, Occasion(is_history=True))  # nobody says since when
        return result

    def _bring(self, source: SourceDocument, occasion: Occasion) -> Result | None:
        try:
            result = self._bring_named(source, occasion)
        except MAY_PASS:
            raise
        except TocsinError as error:
            self._report.fail(f"{source.kind.name} {source.fqn}: {error.message}")
            return None
        if result is not Result.WAITS:
            self._report.note(result, source.kind.name, source.fqn)
        return result

    def _bring_named(self, source: SourceDocument, occasion: Occasion) -> Result:
        """Bring an entity; if another one has its name here, look first at what became of that one."""
        try:
            return self._writer.bring(source, occasion)
        except NameTaken as taken:
            kind = source.kind
            document = self._upstream.entity(kind.collection, taken.source_id, fields_of(kind))
            is_gone = document is None or document.get("deleted") is True
            if is_gone and not taken.is_rename:
                result = self._writer.bring(source, occasion, takes_over=True)
                self._forget(taken.source_id)
                return result
            holder = None if document is None else SourceDocument(kind, document)
            return self._rename_both(source, occasion, holder, taken.source_id)

    def _rename_both(
        self, source: SourceDocument, occasion: Occasion, holder: SourceDocument | None, holder_id: str
    ) -> Result:
        """Bring an entity after the one that has its name here; that one is set aside if it cannot go before."""
        its_occasion = Occasion(is_history=occasion.is_history)
        try:
            if holder is not None and not holder.is_deleted:
                self._writer.bring(holder, its_occasion)
                return self._writer.bring(source, occasion)
        except NameTaken:  # names went in a circle
            pass
        self._writer.set_aside(holder_id)
        result = self._writer.bring(source, occasion)
        if holder is not None and not holder.is_deleted:
            with suppress(NameTaken):  # its name comes free later in the circle: the list or its event brings it
                self._writer.bring(holder, its_occasion)
        return result

    def _forget(self, source_id: str) -> None:
        if not self._options.is_dry:
            self._writer.entities.pop(source_id, None)
            self._writer.records.forget(source_id)

    def _delete_missing(self, seen_ids: set[str], listed_types: set[str]) -> None:
        """Delete what the source brought and has no more, unless it is suspiciously much."""
        brought_rows = (row for row in self._writer.entities.values() if row.is_brought and row.digest != GONE)
        mirrored_rows = [row for row in brought_rows if row.entity_type in listed_types and self._writer.is_here(row)]
        unseen = [row for row in mirrored_rows if row.source_id not in seen_ids]
        gone_rows = [row for row in unseen if self._is_gone(row)]
        if len(gone_rows) > max(_FEW, _DELETED_SHARE * len(mirrored_rows)) and not self._options.may_delete:
            self._report.fail(
                f"{len(gone_rows)} of {len(mirrored_rows)} mirrored entities are gone in the source: nothing was "
                "deleted; check the token's rights, then run with --allow-deletions"
            )
            return
        places = {kind.name: number for number, kind in enumerate(KINDS)}
        for row in sorted(gone_rows, key=lambda one: -places[one.entity_type]):
            try:
                self._report.note(self._writer.delete(row, Occasion()), row.entity_type, row.entity_id)
                self._writer.keep(replace(row, digest=GONE))
            except MAY_PASS:
                raise
            except TocsinError as error:
                self._report.fail(f"{row.entity_type} {row.entity_id}: {error.message}")

    def _is_gone(self, row: SourceEntity) -> bool:
        """Ask for an entity that no list had: one that was renamed meanwhile may be missing from its pages."""
        kind = ENTITY_TYPES[row.entity_type]
        return self._upstream.entity(kind.collection, row.source_id, ("owners",)) is None

    def _save(self, state: SourceState) -> None:
        if not self._options.is_dry:
            self._writer.records.save(state)

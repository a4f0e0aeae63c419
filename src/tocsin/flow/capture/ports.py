"""Protocols of what the write path needs from the store: the catalogue, one transaction at a time.

``store/catalogue/entities/write.py`` implements them; data that belongs to an entity outside its document (reports,
attachments, incidents, threads) is written in the same transaction and makes no version. Next:
``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from enum import Enum
from typing import Protocol

from tocsin.errors import Conflict
from tocsin.flow.capture.change_request_ports import ChangeRequests
from tocsin.flow.capture.reminder_ports import IncidentReminders
from tocsin.flow.capture.thread_ports import ThreadRows
from tocsin.model.alert_incident import AlertIncident, AlertIncidentStep, IncidentPlace
from tocsin.model.entity import Document
from tocsin.model.ingested import IngestedEvent
from tocsin.model.inheritance import Heritage
from tocsin.model.lineage import Edge
from tocsin.model.report import IncidentStep, Line, StoredReport, SuiteResult, SuiteRun
from tocsin.model.source_link import SourceLink
from tocsin.model.stored import CapturedEvent, Key, Relabelling, Stored


class Collision(Conflict):
    """Another transaction wrote the same row at the same time."""

    code = "COLLISION"


class MustWriteError(Exception):
    """A dry run needs a result that only writing can give."""


class Hold(Enum):
    """How firmly a found entity is held until the transaction ends (PostgreSQL; SQLite has one writer)."""

    SHARED = "shared"  # it stays; others may refer to it too
    CHANGE = "change"  # nobody else changes it
    REMOVE = "remove"  # nobody else changes it or refers to it


class Teams(Protocol):
    """The tree of teams."""

    def children(self, team_id: str) -> list[Document]:
        """Return references to the teams directly under one, each with its ``teamType``."""

    def at_address(self, email: str) -> Document | None:
        """Return a reference to a person with this email address, soft-deleted people included."""

    def look_alike_of(self, name: str) -> Document | None:
        """Return a reference to a user, team or bot of another name that can be mistaken for this one."""

    def decide(self, team_ids: Collection[str], names: Collection[str]) -> bool:
        """Return whether being in one of these teams, or in one of these names, decides what a person may do.

        It does if the team or one above it, short of the Organization, has roles or policies, or if a rule names it.
        """

    def domains(self, member_id: str) -> list[Document]:
        """Return the domains that come down to a team or a person from the teams they are in."""


class Series(Protocol):
    """Reads and writes series."""

    def put(self, line: Line, report: StoredReport) -> Document | None:
        """Keep a report in place of the one of the same moment, which is returned; None if there was none."""

    def at(self, line: Line, at_ms: int) -> Document | None:
        """Return what was reported at that moment."""

    def latest(self, line: Line, *, before_ms: int | None = None, statuses: Sequence[str] = ()) -> StoredReport | None:
        """Return the newest report; with a moment the newest before it, with statuses the newest that has one."""

    def remove(self, line: Line, at_ms: int) -> Document | None:
        """Forget what was reported at that moment, and return it; None if there was nothing."""


class Attachments(Protocol):
    """Reads and writes attachments."""

    def get(self, entity_id: str, kind: str) -> Document | None:
        """Return what of this kind is attached to an entity."""

    def put(self, entity_id: str, kind: str, document: Document) -> None:
        """Attach a document in place of the one of this kind that was there."""

    def get_all(self, entity_ids: Sequence[str], kind: str) -> dict[str, Document]:
        """Return what of this kind is attached to each of these entities, by its id; secrets are not for many."""

    def put_all(self, entity_ids: Sequence[str], kind: str, document: Document) -> None:
        """Attach a document to each of these entities in place of what of this kind was there; no secrets."""

    def remove(self, entity_id: str, kind: str) -> bool:
        """Take away what of this kind is attached; False if nothing was."""


class Suites(Protocol):
    """Says which test cases are in which logical suites."""

    def add(self, suite_id: str, test_case_id: str) -> bool:
        """Put a test case into a suite; False if it is in it."""

    def remove(self, suite_id: str, test_case_id: str) -> bool:
        """Take a test case out of a suite that is not its own; False if it is not in it."""


class SuiteRuns(Protocol):
    """Says which runs of test suites are complete."""

    def hold(self, test_case_id: str) -> list[SuiteRun]:
        """Return the last run of each live suite of a test case, by the suite's id, and hold them in that order."""

    def next_end(self, suite_id: str, *, after_ms: int, before_ms: int) -> int | None:
        """Return when each live test of a suite has a result after one moment; None if one has none before another."""

    def newest_before(self, suite_id: str, at_ms: int) -> int:
        """Return the time of the newest result of a suite's live tests before a moment; 0 if there is none."""

    def results(self, suite_id: str, until_ms: int) -> list[SuiteResult]:
        """Return the newest result of each live test of a suite until a moment, by the test's FQN."""

    def end(self, run: SuiteRun) -> None:
        """Remember this run as the last one of its suite, which is held."""


class UsageCounts(Protocol):
    """Reads and writes how often entities were used, by day (counted from 1970-01-01)."""

    def details(self, entity_id: str, day: int) -> Document | None:
        """Return how often an entity was used up to a day on which its use was reported; else None."""

    def put(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Keep a count in place of the one of the same day."""

    def add(self, entity_id: str, entity_type: str, day: int, count: int) -> None:
        """Add to the count of a day; what is added may be less than nothing."""

    def rank(self, entity_type: str, day: int) -> None:
        """Work out how all entities of a type whose use was reported on a day rank among each other."""


class Incidents(Protocol):
    """Reads and writes the steps of incidents."""

    def latest(self, test_case_id: str) -> IncidentStep | None:
        """Return the newest step of all incidents of a test case."""

    def get(self, step_id: str) -> IncidentStep | None:
        """Return one step."""

    def add(self, step: IncidentStep) -> None:
        """Add a step, the newest of its test case from now on."""

    def correct(self, step: IncidentStep) -> None:
        """Replace a step's document."""


class AlertIncidents(Protocol):
    """Reads and writes the incidents of alerts."""

    def place_of(self, identity: str) -> IncidentPlace | None:
        """Return the asset and the name of an incident; None if there is no such incident."""

    def hold(self, identity: str) -> AlertIncident | None:
        """Return an incident, or the one into which it was merged, and hold it; None if there is none."""

    def hold_unresolved(self, entity_id: str) -> AlertIncident | None:
        """Return the incident of an asset that is not resolved, and hold it; None if there is none."""

    def parts_of(self, identity: str) -> list[AlertIncident]:
        """Return the parts of an incident that are not resolved, and hold them."""

    def take_turn(self) -> None:
        """Wait until nobody else merges or splits incidents, and let others wait for this transaction."""

    def hold_off_openings(self) -> None:
        """Wait until no incident of a test case is being opened, and let none be until this transaction ends."""

    def take(self, after: AlertIncident, step: AlertIncidentStep) -> None:
        """Replace an incident's state and add the step that led to it."""

    def steps(self, identity: str) -> list[AlertIncidentStep]:
        """Return what people have done to an incident, in order."""


class AlertEditors(Protocol):
    """Who created or changed each alert since a person last took it over."""

    def of(self, alert_id: str) -> list[str]:
        """Return the ids of an alert's editors."""

    def add(self, alert_id: str, user_id: str, at_ms: int) -> None:
        """Record an editor; one who is known stays as they are."""

    def replace(self, alert_id: str, user_id: str, at_ms: int) -> None:
        """Make a person the only editor of an alert, from then on."""


class Lags(Protocol):
    """Which readers of the log lag too much."""

    def begin(self, reader: str, at_ms: int) -> bool:
        """Note that the lag of a reader is exceeded; False if that is noted."""

    def end(self, reader: str) -> int | None:
        """Note that the lag of a reader is exceeded no more, and return since when it was; None if it was not."""


class IngestedEvents(Protocol):
    """Says which events of other systems were applied."""

    def hold(self, names: Collection[str]) -> None:
        """Wait until no other transaction applies events of these sources, and keep others from it until the end."""

    def known_keys(self, keys: Collection[str]) -> set[str]:
        """Return those of these keys of events that were applied before."""

    def own_ids(self, event_ids: Collection[str]) -> set[str]:
        """Return those of these ids that events of our own have."""

    def newest(self, entity_keys: Collection[str]) -> dict[str, int]:
        """Return the latest time of an applied event about each of these entities, where one had a time."""

    def add(self, events: Sequence[IngestedEvent], at_ms: int) -> None:
        """Add events that were applied, in their order: each is the last one of its entity until the next."""

    def forget(self, superseded_before_ms: int, limit: int) -> None:
        """Remove the oldest events that a later one of the same entity has superseded, so many at most."""


class SourceLinks(Protocol):
    """Remembers which edges and followers a source brought."""

    def put(self, source: str, link: SourceLink) -> None:
        """Remember a link in the place of what was remembered of it."""

    def forget(self, source: str, link: SourceLink) -> None:
        """Forget a link."""

    def follow_event_id(self, entity_id: str, user_id: str) -> str | None:
        """Return the id of the event by which a user follows an entity; None if they do not, or it is not kept."""

    def is_following(self, entity_id: str, user_id: str) -> bool:
        """Return whether a user follows an entity."""


class Transaction(Protocol):
    """One write transaction on the catalogue and the log."""

    @property
    def ingested_events(self) -> IngestedEvents:
        """The events of other systems that were applied."""

    @property
    def source_links(self) -> SourceLinks:
        """The edges and followers that sources brought."""

    @property
    def threads(self) -> ThreadRows:
        """Return the rows of threads."""

    @property
    def series(self) -> Series:
        """The reports over time."""

    @property
    def attachments(self) -> Attachments:
        """The attachments of entities."""

    @property
    def incidents(self) -> Incidents:
        """The incidents of test cases."""

    @property
    def alert_incidents(self) -> AlertIncidents:
        """The incidents of alerts."""

    @property
    def incident_reminders(self) -> IncidentReminders:
        """The reminders of incidents."""

    @property
    def change_requests(self) -> ChangeRequests:
        """The change requests."""

    @property
    def alert_editors(self) -> AlertEditors:
        """The editors of alerts."""

    @property
    def lags(self) -> Lags:
        """Which readers of the log lag too much."""

    @property
    def suites(self) -> Suites:
        """The members of logical test suites."""

    @property
    def suite_runs(self) -> SuiteRuns:
        """The runs of test suites."""

    @property
    def teams(self) -> Teams:
        """The tree of teams."""

    @property
    def usage(self) -> UsageCounts:
        """How often entities were used."""

    def find(self, entity_type: str, key: Key, hold: Hold = Hold.CHANGE) -> Stored | None:
        """Return the entity, soft-deleted or not, and hold it; None if there is none."""

    def reference(self, entity_type: str, key: Key) -> Document | None:
        """Return the full reference to an entity (with ``deleted`` when it is), held as shared; None if none."""

    def descendants(self, entity_types: Sequence[str], fqn: str) -> list[Stored]:
        """Return every entity of these types whose FQN is below ``fqn``, locked for removal, in FQN order."""

    def entities_referring_to(self, entity_ids: Sequence[str], tags: Sequence[str]) -> list[Stored]:
        """Return every entity that names one of these in a list of references, or carries one of these tags."""

    def entities_naming(self, entity_id: str, *, after: str, limit: int) -> list[Stored]:
        """Return entities that name this one in a list of references, or that it follows, held for change.

        They are in the order of their ids; those ``after`` an id, ``limit`` of them.
        """

    def followed_entities(self, user_ids: Sequence[str]) -> list[tuple[Stored, list[str]]]:
        """Return every entity that any of these users follows, held for change, with the ids of those users."""

    def entities_with_property(self, entity_type: str, name: str) -> list[Stored]:
        """Return every entity of this type that has a value of this custom property, held for change."""

    def remember_renaming(self, renamed: Stored, new_fqn: str) -> None:
        """Record that an entity and all below it are called by a new name from the entity's event on."""

    def remember_names(self, names: Sequence[tuple[str, str, str]]) -> None:
        """Record what entities were called until now: type, FQN and id of each."""

    def formerly(self, types: Sequence[str], name: str) -> Document | None:
        """Return a reference to the entity of these types that was called so, while nothing else is; None if none."""

    def holder(self, types: Sequence[str], name: str, at_ms: int) -> str | None:
        """Return the id of the entity of these types that was called so at a time, even if it is deleted now."""

    def entities_containing(self, entity_type: str, text: str) -> list[Stored]:
        """Return entities of a type whose documents may contain a text, held for change: all that do, and few more."""

    def heritage(self, entity_type: str, fqn: str) -> Heritage:
        """Return what an entity at this place inherits if it has nothing of its own."""

    def relabel(self, old: Stored, new: Stored, relabelling: Relabelling) -> None:
        """Replace an entity by one whose labels have new names, without a version; remember which they were."""

    def version(self, entity_id: str, number: Decimal) -> Document | None:
        """Return one version of an entity, its labels under their names of now, or None if it has no such version."""

    def reason_of(self, entity_id: str, number: Decimal) -> str | None:
        """Return why a version of an entity was written, as its author says; None if they do not say."""

    def states(self, entity_id: str) -> Iterable[tuple[Document, bool]]:
        """Return every version of an entity, oldest first, and whether a bot wrote it; labels have names of now."""

    def remember_curated(self, entity_id: str, curated: frozenset[str]) -> None:
        """Record the paths of the values of an entity that a person wrote last."""

    def forget_version(self, entity_id: str, number: Decimal) -> None:
        """Remove one version of an entity, to be kept again in another form or taken back."""

    def insert(self, new: Stored) -> None:
        """Add an entity and its first version."""

    def update(self, old: Stored, new: Stored) -> None:
        """Replace an entity; a new version is kept when the version number differs."""

    def remember_relations(self, entity_ids: Collection[str]) -> None:
        """Load owners, followers, edges and ancestors of these entities, which are erased together.

        ``edges_of`` answers from them until an entity is erased, or an edge that leads from or to it is put or deleted.
        """

    def erase(self, erased: Sequence[Stored]) -> None:
        """Remove entities and all that hangs on them, except their versions."""

    def follow(self, entity: Stored, user_id: str, column_path: str | None = None) -> bool:
        """Make the user a follower, perhaps of a column, as of the event of this write; False if they were one."""

    def unfollow(self, entity: Stored, user_id: str, column_path: str | None = None) -> bool:
        """Make the user no follower, perhaps of a column; False if they were none."""

    def edge(self, from_id: str, to_id: str) -> Edge | None:
        """Return a lineage edge and lock it; None if there is no such edge."""

    def edges_of(self, entity_id: str) -> list[Edge]:
        """Return every lineage edge that leads from or to an entity, or whose data it moves."""

    def read_by_others(self, entity_ids: Collection[str]) -> Collection[str]:
        """Return the ids of those of these entities that something reads, or that move what something reads.

        Readers that are deleted, or among these entities themselves, do not count.
        """

    def put_edge(self, from_: Stored, to: Stored, details: Document) -> None:
        """Add a lineage edge or replace its details."""

    def delete_edge(self, from_id: str, to_id: str) -> None:
        """Remove a lineage edge."""

    def append(self, events: Iterable[CapturedEvent]) -> Mapping[str, bool]:
        """Add events to the log, in this order; return ``Written.deletedness`` of a single one's entity."""


class BatchedTransaction(Transaction, Protocol):
    """One write transaction for many writes, each of which succeeds or fails on its own."""

    def row(self) -> AbstractContextManager[None]:
        """Begin one of the writes; an error that leaves it undoes it and nothing else."""

    def look_ahead(self, entity_type: str, fqns: Iterable[str]) -> None:
        """Prefetch the entities that will be looked up; others are found as well, only slower."""


class Catalogue(Protocol):
    """Opens write transactions."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : another transaction wrote the same row at the same time; try again.
        """


class BatchedCatalogue(Protocol):
    """Opens write transactions for many writes."""

    def batch(self) -> AbstractContextManager[BatchedTransaction]:
        """Open a transaction for many writes: committed at the end, rolled back on an error.

        Raises
        ------
        Collision : another transaction wrote the same row at the same time; try again.
        """

    def rehearsal(self) -> AbstractContextManager[BatchedTransaction]:
        """Open a transaction that is rolled back, without blocking others where possible.

        Raises
        ------
        MustWriteError : it needs the write lock; an aborted batch raises the same
        """

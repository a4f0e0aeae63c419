"""Parts of a server: everything it uses, wired in one place.

Next: ``server/app.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import anyio
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache
from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.catalogue.feed.task_operations import TaskWrites
from tocsin.catalogue.ingest.writes import IngestWrites
from tocsin.catalogue.people.violations import add_violation
from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.clock import Clock, SystemClock
from tocsin.flow.capture.bounds import Bounds
from tocsin.flow.eventlog.lag import LagLimits
from tocsin.model.people import Actor
from tocsin.model.suggestion import SUGGESTION, suggestion_document
from tocsin.rehearsal import RehearsalAudience
from tocsin.server.alert_stores import AlertStores
from tocsin.server.http.bodies import Bodies
from tocsin.server.http.request_slots import Shares
from tocsin.server.http.write_quotas import IngestRate, PersonalWriteCounts
from tocsin.server.inbox.streams import StreamLimits, Streams
from tocsin.server.inbox.together import Together
from tocsin.server.login.browser_sessions import BrowserSessions, SessionLife, is_of_browser
from tocsin.server.login.openid import OpenIdConnect
from tocsin.server.login.sessions import LoginSessions
from tocsin.server.login.throttle import LoginQueue, LoginThrottle
from tocsin.server.login.token_cache import TokenCache
from tocsin.server.login.tokens import Tokens
from tocsin.server.policies.cache import CachedSubjects
from tocsin.server.policies.denials import RefusalLog
from tocsin.server.policies.writes import ActorPermits
from tocsin.settings import CatalogueSettings, LoginSettings, Settings
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.quotas import Quotas
from tocsin.store.catalogue.access.revision import PeopleRevision
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.entities.history import History
from tocsin.store.catalogue.feed.announcements import AnnouncementList
from tocsin.store.catalogue.feed.conversations import ConversationList
from tocsin.store.catalogue.feed.tasks import TaskList
from tocsin.store.catalogue.feed.threads import Feed
from tocsin.store.catalogue.governance.group_members import Grouped
from tocsin.store.catalogue.lineage.reach import Lineage
from tocsin.store.catalogue.lineage.unresolved import UnresolvedLineageLog
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.catalogue.observations.usage import Usage
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.login_attempts import LoginAttempts, Pace
from tocsin.store.catalogue.quality.incidents import IncidentLog
from tocsin.store.catalogue.quality.suites import SuiteReader
from tocsin.store.catalogue.search.results import SearchIndex
from tocsin.store.eventlog.activity import Activity
from tocsin.store.eventlog.consumers import Consumers
from tocsin.store.eventlog.ingest_outcomes import IngestOutcomes
from tocsin.store.eventlog.ingested import EventOrigins
from tocsin.store.eventlog.lag_states import LagStates
from tocsin.store.eventlog.lake_queries import RequestedQueries
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.delay_history import DelayHistory
from tocsin.store.outbox.failing_rows import FailedRowSamples
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.status import DestinationStatuses
from tocsin.store.recipients.impact import Impact
from tocsin.store.upkeep.erasure.requests import Erasures
from tocsin.store.upkeep.health import Health
from tocsin.store.upkeep.lag import ReaderLags, lag_limits
from tocsin.store.upkeep.stored_settings import stored_names


@dataclass(frozen=True)
class LoginParts:
    """How people log in, and what they then carry."""

    logins: LoginThrottle
    passwords: LoginQueue
    openid: OpenIdConnect
    openid_queue: LoginQueue
    sessions: LoginSessions
    browsers: BrowserSessions

    def actor_of(self, authorization: str | None) -> Actor:
        """Return who sent a request, whose session in a browser lasts longer for it.

        Raises
        ------
        Unauthenticated : as ``Tokens.actor``
        """
        actor = self.tokens.actor(authorization)
        if is_of_browser(authorization):
            self.browsers.note_use(str(authorization))
        return actor

    @property
    def tokens(self) -> Tokens:
        """Return what signs and reads tokens."""
        return self.sessions.tokens


@dataclass(frozen=True)
class TrafficParts:
    """What bounds requests, their bodies and streams."""

    bodies: Bodies
    shares: Shares
    streams: Streams
    together: Together
    health_lane: anyio.CapacityLimiter
    ingest_rate: IngestRate


@dataclass(frozen=True)
class AccessParts:
    """Who may do what, and who was refused."""

    permission_cache: PermissionCache
    standing: SqlEntityStates
    refusals: RefusalLog


@dataclass(frozen=True)
class EntityParts:
    """Entities beside the catalogue: earlier versions, writes of many, members of groups, search."""

    history: History
    bulk: BulkWrites
    grouped: Grouped
    search: SearchIndex
    ingest: IngestWrites
    origins: EventOrigins
    ingest_outcomes: IngestOutcomes


@dataclass(frozen=True)
class DiscussionParts:
    """Threads, and the activity around assets."""

    feed: Feed
    feed_writes: FeedWrites
    tasks: TaskList
    suggestions: TaskList
    task_writes: TaskWrites
    announcements: AnnouncementList
    conversations: ConversationList
    activity: Activity


@dataclass(frozen=True)
class GraphParts:
    """Lineage and what it leads to."""

    lineage: Lineage
    impact: Impact
    unresolved: UnresolvedLineageLog


@dataclass(frozen=True)
class ReportParts:
    """What is reported about assets: observations, test suites, incidents, usage, rows that failed tests."""

    observations: ObservationReads
    incidents: IncidentLog
    suites: SuiteReader
    usage: Usage
    failed_rows: FailedRowSamples


@dataclass(frozen=True)
class LagParts:
    """How far readers of the log are behind, and how far they may be."""

    lags: ReaderLags
    states: LagStates
    limits: LagLimits
    delays: DelayHistory


@dataclass(frozen=True)
class Parts:
    """Everything the routes use."""

    settings: Settings
    clock: Clock
    catalogue: SqlCatalogue
    writes: Writes
    entities: EntityParts
    access: AccessParts
    discussion: DiscussionParts
    graph: GraphParts
    changes: ChangeRequestLog
    reports: ReportParts
    log: EventLog
    consumers: Consumers
    health: Health
    lag: LagParts
    people: People
    login: LoginParts
    traffic: TrafficParts
    inbox: Inbox
    subscriptions: Subscriptions
    standings: DestinationStatuses
    alert_stores: AlertStores
    backtests: Backtests
    lake_queries: RequestedQueries
    erasures: Erasures
    quotas: Quotas
    make_audience: Callable[[], RehearsalAudience]
    """Makes what finds the recipients of rehearsed changes."""
    read_stored_names: Callable[[], set[str]]
    """Reads which settings the store keeps."""


def build_parts(
    settings: Settings, engine: Engine, clock: Clock | None = None, revision: PeopleRevision | None = None
) -> Parts:
    """Wire a server over the migrated store behind ``engine``; its other processes share the ``revision``."""
    clock, revision, page_bytes = clock or SystemClock(), revision or PeopleRevision(), settings.page_bytes
    catalogue, people = SqlCatalogue(engine, revision, page_bytes=page_bytes), People(engine, revision)
    inbox, plain_writes = Inbox(engine, page_bytes=page_bytes), Writes(catalogue, clock)
    access = _access_of(engine, plain_writes, clock, revision)
    permits, bounds = ActorPermits(access.permission_cache, access.refusals), _bounds_of(settings, clock)
    writes = _writes(settings, catalogue, clock=clock, permits=permits, bounds=bounds)
    bulk = BulkWrites(catalogue, clock, permits=permits, bounds=bounds)
    ingest = IngestWrites(catalogue, clock, permits=permits, bounds=bounds)
    pace = Pace(int(settings.login_longest_delay_s * 1000), int(settings.login_wait_s * 1000))
    sessions = _sessions_of(settings, people, plain_writes, clock, cache=TokenCache(revision.number))
    return Parts(
        settings=settings,
        clock=clock,
        catalogue=catalogue,
        writes=writes,
        entities=_entities_of(engine, page_bytes, bulk, ingest),
        access=access,
        discussion=_discussion(engine, writes, page_bytes),
        graph=GraphParts(Lineage(engine), Impact(engine), UnresolvedLineageLog(engine)),
        changes=ChangeRequestLog(engine),
        reports=_reports_of(settings, engine, access),
        log=EventLog(engine, page_bytes=page_bytes),
        consumers=Consumers(engine),
        health=Health(engine, settings.data_dir.absolute(), limits=_limits_of(settings)),
        lag=_lag_parts(engine, settings),
        people=people,
        login=LoginParts(
            LoginThrottle(people, LoginAttempts(engine, pace), clock, free=settings.login_failures),
            LoginQueue(settings.login_concurrency, settings.login_waiting),
            OpenIdConnect(settings, people, plain_writes, clock),
            LoginQueue(settings.login_concurrency, settings.login_waiting),
            sessions,
            BrowserSessions(sessions, people, clock, _session_life(settings)),
        ),
        traffic=_traffic_of(settings, inbox, people, clock),
        inbox=inbox,
        subscriptions=Subscriptions(engine),
        standings=DestinationStatuses(engine),
        alert_stores=AlertStores(engine, page_bytes=page_bytes, base_url=settings.base_url()),
        backtests=Backtests(engine),
        lake_queries=RequestedQueries(engine),
        erasures=Erasures(engine),
        quotas=Quotas(engine),
        make_audience=partial(RehearsalAudience, engine, clock, max_event_age_ms=settings.max_event_age_ms()),
        read_stored_names=partial(stored_names, engine),
    )


def _reports_of(settings: Settings, engine: Engine, access: AccessParts) -> ReportParts:
    failed_rows = FailedRowSamples(engine, settings.masked_tags, access.permission_cache)
    return ReportParts(ObservationReads(engine), IncidentLog(engine), SuiteReader(engine), Usage(engine), failed_rows)


def _entities_of(engine: Engine, page_bytes: int, bulk: BulkWrites, ingest: IngestWrites) -> EntityParts:
    history, origins, outcomes = History(engine, page_bytes=page_bytes), EventOrigins(engine), IngestOutcomes(engine)
    return EntityParts(history, bulk, Grouped(engine), SearchIndex(engine), ingest, origins, outcomes)


def _traffic_of(settings: Settings, inbox: Inbox, people: People, clock: Clock) -> TrafficParts:
    return TrafficParts(
        Bodies(settings),
        Shares(settings.requests_per_person, settings.requests_waiting_per_person),
        Streams(inbox, people.tokens, clock, StreamLimits(settings.streams_per_person, settings.streams)),
        Together(),
        anyio.CapacityLimiter(1),
        IngestRate(clock, settings.ingest_events_per_minute),
    )


def _access_of(engine: Engine, writes: Writes, clock: Clock, revision: PeopleRevision) -> AccessParts:
    permission_cache = PermissionCache(CachedSubjects(engine, revision.number))
    return AccessParts(permission_cache, SqlEntityStates(engine), RefusalLog(partial(add_violation, writes), clock))


def _bounds_of(settings: CatalogueSettings, clock: Clock) -> Bounds:
    events, size = settings.events_per_person_per_hour, settings.event_bytes_per_person_per_hour
    write_counts = PersonalWriteCounts(clock, most_events=events, most_bytes=size)
    late_after_ms = int(settings.report_max_age_h * 3_600_000)
    return Bounds(settings.most_patch_operations, settings.largest_document, write_counts, late_after_ms)


def _writes(
    settings: CatalogueSettings, catalogue: SqlCatalogue, *, clock: Clock, permits: ActorPermits, bounds: Bounds
) -> Writes:
    consolidate_ms = int(settings.consolidate_minutes * 60_000)
    return Writes(catalogue, clock, permits=permits, consolidate_ms=consolidate_ms, bounds=bounds)


def _sessions_of(
    settings: LoginSettings, people: People, writes: Writes, clock: Clock, *, cache: TokenCache
) -> LoginSessions:
    tokens = Tokens(people, clock, lifetime_s=settings.token_hours * 3600, cache=cache)
    return LoginSessions(tokens, people.tokens, writes)


def _session_life(settings: LoginSettings) -> SessionLife:
    return SessionLife(int(settings.session_idle_hours * 3_600_000), int(settings.session_hours * 3_600_000))


def _lag_parts(engine: Engine, settings: Settings) -> LagParts:
    lags = ReaderLags(
        engine,
        has_lake=settings.lake_every_s > 0,
        has_relay=settings.kafka_servers is not None or settings.pulsar_admin_url is not None,
        every_s=settings.event_lag_every_s,
    )
    return LagParts(lags, LagStates(engine), _limits_of(settings), DelayHistory(engine))


def _limits_of(settings: Settings) -> LagLimits:
    return lag_limits(settings, lake_every_s=settings.lake_every_s)


def _discussion(engine: Engine, writes: Writes, page_bytes: int | None) -> DiscussionParts:
    activity = Activity(engine, page_bytes=page_bytes)
    return DiscussionParts(
        Feed(engine),
        FeedWrites(writes),
        TaskList(engine),
        TaskList(engine, suggestion_document, kind=SUGGESTION),
        TaskWrites(writes),
        AnnouncementList(engine),
        ConversationList(engine),
        activity,
    )

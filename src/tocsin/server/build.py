"""What is a server made of? Everything it uses, wired in one place.

Next: ``server/app.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from tocsin.access.views import Views
from tocsin.clock import Clock, SystemClock
from tocsin.flow.capture.bulk import BulkWrites
from tocsin.flow.capture.feed.operations import FeedWrites
from tocsin.flow.capture.operations import Writes
from tocsin.flow.capture.violations import Violations
from tocsin.server.auth import Tokens
from tocsin.server.doorkeeper import Doorkeeper
from tocsin.server.momentary import MomentarySubjects
from tocsin.server.oidc import OpenIdConnect
from tocsin.server.permits import ActorPermits
from tocsin.server.recognised import Recognised
from tocsin.server.refusals import RefusalLog
from tocsin.server.streams import Streams
from tocsin.server.telling import Telling, telling_of
from tocsin.settings import Settings
from tocsin.store.access.attempts import LoginAttempts
from tocsin.store.access.people import People
from tocsin.store.access.revision import PeopleRevision
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.backtests import Backtests
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.beside.incidents import IncidentLog
from tocsin.store.beside.reads import Beside
from tocsin.store.beside.suites import SuiteReader
from tocsin.store.beside.usage import Usage
from tocsin.store.catalogue.entities import SqlCatalogue
from tocsin.store.catalogue.grouped import Grouped
from tocsin.store.catalogue.history import History
from tocsin.store.eventlog.activity import Activity
from tocsin.store.eventlog.log import EventLog
from tocsin.store.feed.threads import Feed
from tocsin.store.lineage.impact import Impact
from tocsin.store.lineage.reach import Lineage
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.status import Standings
from tocsin.store.search.results import SearchIndex


@dataclass(frozen=True)
class Parts:
    """Everything the routes use."""

    settings: Settings
    clock: Clock
    catalogue: SqlCatalogue
    history: History
    writes: Writes
    views: Views
    refusals: RefusalLog
    feed_writes: FeedWrites
    feed: Feed
    bulk: BulkWrites
    log: EventLog
    people: People
    doorkeeper: Doorkeeper
    openid: OpenIdConnect
    subscriptions: Subscriptions
    inbox: Inbox
    grouped: Grouped
    lineage: Lineage
    impact: Impact
    standings: Standings
    activity: Activity
    search: SearchIndex
    tokens: Tokens
    streams: Streams
    beside: Beside
    incidents: IncidentLog
    suites: SuiteReader
    usage: Usage
    telling: Telling
    backtests: Backtests


def build_parts(
    settings: Settings, engine: Engine, clock: Clock | None = None, revision: PeopleRevision | None = None
) -> Parts:
    """Wire a server over the migrated store behind ``engine``; its other processes share the ``revision``."""
    clock, revision = clock or SystemClock(), revision or PeopleRevision()
    catalogue, people, inbox = SqlCatalogue(engine, revision), People(engine, revision), Inbox(engine)
    views = Views(MomentarySubjects(SqlSubjects(engine), revision.now))
    violations = Violations(Writes(catalogue, clock))
    refusals = RefusalLog(lambda violation, actor: violations.add(violation, actor=actor), clock)
    permits = ActorPermits(views, refusals)
    consolidate_ms = int(settings.consolidate_minutes * 60_000)
    writes = Writes(catalogue, clock, permits=permits, consolidate_ms=consolidate_ms)
    return Parts(
        settings=settings,
        clock=clock,
        catalogue=catalogue,
        history=History(engine),
        writes=writes,
        views=views,
        refusals=refusals,
        feed_writes=FeedWrites(writes),
        feed=Feed(engine),
        bulk=BulkWrites(catalogue, clock, permits=permits),
        log=EventLog(engine),
        people=people,
        openid=OpenIdConnect(settings, people, Writes(catalogue, clock), clock),
        doorkeeper=Doorkeeper(
            people, LoginAttempts(engine), clock, most=settings.login_failures, wait_s=settings.login_wait_s
        ),
        subscriptions=Subscriptions(engine),
        inbox=inbox,
        grouped=Grouped(engine),
        lineage=Lineage(engine),
        impact=Impact(engine),
        standings=Standings(engine),
        activity=Activity(engine),
        search=SearchIndex(engine),
        tokens=Tokens(
            people,
            clock,
            lifetime_s=settings.token_hours * 3600,
            recognised=Recognised(revision.now),
        ),
        streams=Streams(inbox, clock),
        beside=Beside(engine),
        incidents=IncidentLog(engine),
        suites=SuiteReader(engine),
        usage=Usage(engine),
        telling=telling_of(engine),
        backtests=Backtests(engine),
    )

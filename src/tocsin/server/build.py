"""What is a server made of? Everything it uses, wired in one place; and what the first start leaves behind.

Next: ``server/app.py``.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.errors import Conflict
from tocsin.flow.capture.operations import Writes
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.server.auth import Tokens, hash_password, new_password
from tocsin.server.streams import Streams
from tocsin.settings import Settings
from tocsin.store.activity import Activity
from tocsin.store.entities import SqlCatalogue
from tocsin.store.inbox import Inbox
from tocsin.store.lineage import Lineage
from tocsin.store.log import EventLog
from tocsin.store.people import People, ensure_administrator
from tocsin.store.schema import migrate
from tocsin.store.status import Standings
from tocsin.store.subscriptions import Subscriptions

ADMINISTRATOR: Document = {
    "name": "admin",
    "displayName": "Administrator",
    "email": "admin@tocsin.localhost",
    "isAdmin": True,
}
"""Who can log in after the first start."""

ACTIVITY_FEED_ALERT: Document = {
    "name": "ActivityFeedAlert",
    "displayName": "Activity feed",
    "description": "Tells owners and followers of an asset, in the app, what changes about it.",
    "alertType": "ActivityFeed",
    "provider": "system",
    "enabled": True,
    "trigger": {"triggerType": "RealTime"},
    "filteringRules": {
        "resources": ["all"],
        "rules": [
            {
                "name": "notOnlyFollowersOrVotes",
                "description": "Who follows or votes is nobody else's news.",
                "effect": "exclude",
                "condition": "fieldChanged == 'followers' || fieldChanged == 'votes'",
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001", "category": "Followers", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0002", "category": "Owners", "type": "ActivityFeed"},
    ],
    "batchSize": 100,
    "retries": 3,
    "pollInterval": 60,
}
"""The alert behind everybody's bell. A follow or a vote is an event of its own, so leaving out those that touch
``followers`` or ``votes`` leaves out nothing else."""


@dataclass(frozen=True)
class Parts:
    """Everything the routes use."""

    settings: Settings
    clock: Clock
    catalogue: SqlCatalogue
    writes: Writes
    log: EventLog
    people: People
    subscriptions: Subscriptions
    inbox: Inbox
    lineage: Lineage
    standings: Standings
    activity: Activity
    tokens: Tokens
    streams: Streams


def build_parts(settings: Settings, engine: Engine, clock: Clock | None = None) -> Parts:
    """Wire a server over the migrated store behind ``engine``."""
    clock = clock or SystemClock()
    catalogue, people, inbox = SqlCatalogue(engine), People(engine), Inbox(engine)
    return Parts(
        settings=settings,
        clock=clock,
        catalogue=catalogue,
        writes=Writes(catalogue, clock),
        log=EventLog(engine),
        people=people,
        subscriptions=Subscriptions(engine),
        inbox=inbox,
        lineage=Lineage(engine),
        standings=Standings(engine),
        activity=Activity(engine),
        tokens=Tokens(people, clock, lifetime_s=settings.token_hours * 3600),
        streams=Streams(inbox, clock),
    )


def first_start(engine: Engine, settings: Settings) -> str | None:
    """Bring the store to the newest schema and make what a server cannot do without.

    Returns the administrator's password when this call set it, else None. Doing it again, or in two processes at
    once, changes nothing more.
    """
    del settings  # nothing that is made here can be set yet
    migrate(engine)
    writes = Writes(SqlCatalogue(engine), SystemClock())
    people = People(engine)

    def create_administrator() -> str:
        _create_once(writes, "user", ADMINISTRATOR)
        made = people.by_name(ADMINISTRATOR["name"])
        assert made is not None  # noqa: S101  created by this process or another one
        return made.id

    password = ensure_administrator(people, create_administrator, password=new_password(), hash_password=hash_password)
    _create_once(writes, "eventsubscription", ACTIVITY_FEED_ALERT)
    return password


def _create_once(writes: Writes, entity_type: str, request: Document) -> None:
    with contextlib.suppress(Conflict):  # made by an earlier start, or by another process just now
        writes.create(entity_type, request, actor=SYSTEM)

"""Parts of a worker by what uses them: its queue, its attempts, its clocks, and how much it takes on.

Next: ``delivery/worker/deliver.py`` for the queue, ``delivery/worker/attempt.py`` for attempts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tocsin.clock import Clock, Steady, SystemClock, steady_s
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.templates.renderings import Renderings
from tocsin.delivery.worker.failure_reports import FailureReports
from tocsin.delivery.worker.hidden_wholes import HiddenWholes
from tocsin.delivery.worker.lag_reports import LagReports
from tocsin.delivery.worker.shares import Place, only_place
from tocsin.store.catalogue.people.identities import People
from tocsin.store.catalogue.people.own_addresses import OwnAddresses
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.cause_threads import CauseThreads
from tocsin.store.outbox.current_state import CurrentStates
from tocsin.store.outbox.failing_rows import FailedRowSamples
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.handovers import Handovers
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.personal_notices import NoticeTexts
from tocsin.store.outbox.quiet_times import SqlQuietTimes
from tocsin.store.outbox.replays import Replays
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.recipients.asked import AskedConsumers


@dataclass(frozen=True)
class Limits:
    """How much a process of a worker takes on; ``per_destination`` is what all of them share.

    ``in_flight`` counts messages in hand, over all destinations, ``event_bytes`` the bytes of their events as JSON and
    of the failing rows that they may show; in memory they are four times as large.
    """

    claim: int = 384
    per_destination: int = 8
    in_flight: int = 4_096
    event_bytes: int = 64 * 2**20
    lease_s: float = 90.0
    poll_s: float = 0.2
    grace_s: float = 20.0


@dataclass(frozen=True)
class WorkerTime:
    """The clocks of a worker, and what spreads its waits: ``jitter`` gives numbers in [0, 1)."""

    clock: Clock = field(default_factory=SystemClock)
    steady: Steady = steady_s
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True)
class QueueParts:
    """What a worker keeps its queue with: messages, its session, and what it does for the queue from time to time."""

    messages: Messages
    sessions: Sessions
    replays: Replays
    handovers: Handovers
    failure_reports: FailureReports
    lag_reports: LagReports


@dataclass(frozen=True)
class AttemptParts:
    """What attempts ask of the store, and what sends.

    The links in messages begin with ``base_url``; ``link_key`` signs those that act for their recipient.
    """

    routes: Routes
    permitted: Permitted
    people: People
    own_addresses: OwnAddresses
    failure_messages: FailureMessages
    failing_rows: FailedRowSamples
    quiet_times: SqlQuietTimes
    asked_consumers: AskedConsumers
    current_states: CurrentStates
    hidden_wholes: HiddenWholes
    cause_threads: CauseThreads
    notice_texts: NoticeTexts
    senders: Mapping[str, Sender]
    renderings: Renderings = field(default_factory=Renderings)
    base_url: str = ""
    link_key: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class WorkerParts:
    """What a worker works with; ``intervals_s`` gives by channel the least time between two messages to one address."""

    queue: QueueParts
    attempts: AttemptParts
    time: WorkerTime = field(default_factory=WorkerTime)
    limits: Limits = field(default_factory=Limits)
    intervals_s: Mapping[str, float] = field(default_factory=dict)
    place: Place = field(default_factory=only_place)
    owner: str = ""

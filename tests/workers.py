"""Parts of workers for tests: over a store, with senders of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.delivery.dispatch import Sender
from tocsin.delivery.worker.failure_reports import failure_reports
from tocsin.delivery.worker.hidden_wholes import HiddenWholes
from tocsin.delivery.worker.lag_reports import lag_reports
from tocsin.delivery.worker.parts import AttemptParts, QueueParts, WorkerParts
from tocsin.settings import Settings
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


def worker_parts(engine: Engine, senders: Mapping[str, Sender]) -> WorkerParts:
    """Return the parts of a worker; its messages have no links that act for their recipient."""
    clock, handovers = SystemClock(), Handovers(engine, Routes(engine).is_open)
    send_permission = Permitted(engine)
    failures, lags = failure_reports(engine, clock), lag_reports(Settings(), engine, clock)
    return WorkerParts(
        QueueParts(Messages(engine), Sessions(engine), Replays(engine), handovers, failures, lags),
        AttemptParts(
            Routes(engine),
            send_permission,
            People(engine),
            OwnAddresses(engine),
            FailureMessages(engine),
            FailedRowSamples(engine, Settings().masked_tags, send_permission.permission_cache),
            SqlQuietTimes(engine),
            AskedConsumers(engine),
            CurrentStates(engine),
            HiddenWholes(engine, send_permission.permission_cache),
            CauseThreads(engine, Messages(engine).dispatches),
            NoticeTexts(engine, send_permission.permission_cache),
            senders,
        ),
        owner="test",
    )


def with_parts(parts: WorkerParts, **values: Any) -> WorkerParts:
    """Return parts with some values replaced, in whichever record they are."""
    records = {field.name: getattr(parts, field.name) for field in fields(parts)}
    for name, record in records.items():
        if is_dataclass(record) and not isinstance(record, type) and name not in values:
            inside = {field.name: values.pop(field.name) for field in fields(record) if field.name in values}
            records[name] = replace(record, **inside)
    return replace(parts, **{**records, **values})

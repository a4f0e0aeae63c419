"""Wiring of the mirror of an OpenMetadata: everything it uses, from the settings.

Next: ``sources/openmetadata/mirror.py``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from tocsin.access.subject import ORGANIZATION
from tocsin.access.unmapped import CLASSIFICATION, MIRROR_ROLE, POLICY, POLICY_NAME, ROLE, TAG
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import Conflict, InvalidSetting, TocsinError
from tocsin.flow.capture.normalize import without_server_keys
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.upsert import change, ensure
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.rehearsal import RehearsalAudience
from tocsin.settings import Settings
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.sources.openmetadata.mirror import Mirror, Progress, RunOptions
from tocsin.sources.openmetadata.upstream import Access, Upstream
from tocsin.sources.openmetadata.writing import Writer
from tocsin.sources.process.bots import bot_of, check_policies
from tocsin.sources.process.stored_records import StoredRecords
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.faults import fault_of
from tocsin.store.database.startup import may_pass
from tocsin.store.eventlog.relay_lead import RelayLead
from tocsin.store.upkeep.opening import open_store
from tocsin.store.upkeep.stored_settings import with_stored_secrets

SOURCE = "openmetadata"
BOT: Document = {
    "name": "openmetadata-bot",
    "displayName": "OpenMetadata mirror",
    "description": "Writes what the mirror reads from an OpenMetadata server.",
    "email": "openmetadata-bot@tocsin.example.org",
    "isBot": True,
    "roles": [MIRROR_ROLE],
}
_LEASE_S = 60.0
_log = structlog.get_logger("tocsin.mirror")


class MirrorRecords(StoredRecords):
    """The records of the mirror, as the sources see them."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, SOURCE)


def run_once(settings: Settings, options: RunOptions, *, progress: Progress | None = None) -> Document:
    """Make one run, and return its report.

    Raises
    ------
    InvalidSetting : the address or the token is missing
    Conflict : another run goes on
    """
    with _opened_mirror(settings) as (engine, _):
        return _run(engine, with_token(engine, settings), options, threading.Event(), progress)


def keep_running(settings: Settings, options: RunOptions) -> None:
    """Make runs until SIGINT or SIGTERM, with the interval of the settings between them."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    repeat_runs(settings, options, stop)


def repeat_runs(settings: Settings, options: RunOptions, stop: threading.Event) -> None:
    """Make runs until ``stop`` is set. Raises as ``run_once``, at its beginning."""
    with _opened_mirror(settings) as (engine, lead):
        while not stop.is_set():
            _run_or_wait(engine, settings, options, stop, lead)
            stop.wait(settings.openmetadata_interval_s)


def _run_or_wait(
    engine: Engine, settings: Settings, options: RunOptions, stop: threading.Event, lead: RelayLead
) -> None:
    """Make one run, with the token of this moment; what may pass is left to the next one."""
    try:
        if not lead.keep():
            raise _another_run()
        report = _run(engine, with_token(engine, settings), options, stop, None)
        _log.info("mirror.ran", errors=report["errors"][:5], **report["counts"])
    except InvalidSetting:
        raise
    except (TocsinError, SQLAlchemyError) as error:
        if (fault := fault_of(error)) is not None and not may_pass(fault):
            raise
        _log.warning("mirror.waits", reason=str(error).partition("\n")[0])


def read_status(engine: Engine) -> Document:
    """Return how far the mirror is, with the report of its last run."""
    records = MirrorRecords(engine)
    state, entities = records.state(), list(records.entities())
    return {
        "source": SOURCE,
        "watermark": state.watermark_ms,
        "loaded": state.is_loaded,
        "reconciledAt": state.reconciled_at_ms or None,
        "mirrored": len(entities),
        "brought": sum(row.is_brought for row in entities),
        "lastRun": state.last_run,
    }


@contextmanager
def _opened_mirror(settings: Settings) -> Iterator[tuple[Engine, RelayLead]]:
    if not settings.openmetadata_url:
        raise InvalidSetting(
            "No OpenMetadata is set. Set TOCSIN_OPENMETADATA_URL to its address.", field="openmetadata_url"
        )
    with open_store(settings) as engine:
        with_token(engine, settings)
        lead = RelayLead(engine, f"source-{SOURCE}", SystemClock(), lease_s=_LEASE_S)
        if not lead.try_to_take():
            raise _another_run()
        try:
            yield engine, lead
        finally:
            lead.give_up()


def with_token(engine: Engine, settings: Settings) -> Settings:
    """Return the settings with the secrets that are stored now.

    Raises
    ------
    InvalidSetting : there is no token
    """
    complete_settings = with_stored_secrets(engine, settings)
    if complete_settings.openmetadata_token is None:
        raise InvalidSetting(
            "The token is missing: run `tocsin admin secret openmetadata_token`, or set TOCSIN_OPENMETADATA_TOKEN.",
            field="openmetadata_token",
        )
    return complete_settings


def _another_run() -> Conflict:
    return Conflict("Another run of the mirror goes on: wait for its end.")


def _run(
    engine: Engine, settings: Settings, options: RunOptions, stop: threading.Event, progress: Progress | None
) -> Document:
    clock, records = SystemClock(), MirrorRecords(engine)
    writes = Writes(SqlCatalogue(engine), clock)
    mapping = Mapping(settings.openmetadata_mapped, settings.openmetadata_people)
    if options.is_dry:
        bot = Actor("system", BOT["name"], is_bot=True)
    else:
        ensure_unmapped_policy(writes)
        bot = bot_of(engine, writes, BOT)
    writer = Writer(writes, records, bot, mapping, clock, is_dry=options.is_dry)
    audience = RehearsalAudience(engine, clock, max_event_age_ms=settings.max_event_age_ms())
    writer.rehearsed = audience.add
    options = replace(options, reconcile_ms=int(settings.openmetadata_reconcile_h * 3_600_000))
    token = settings.openmetadata_token.get_secret_value() if settings.openmetadata_token else ""
    access = Access(settings.openmetadata_url or "", token, egress_of(settings.egress_allow))
    with Upstream(access, clock, _wait_of(stop)) as upstream:
        report = Mirror(upstream, writer, clock, options, progress).run()
    if options.is_dry:
        report.would_tell = audience.as_document()
    return report.as_document(ended_at_ms=clock.now_ms())


def _wait_of(stop: threading.Event) -> Callable[[float], bool]:
    return stop.wait


def ensure_unmapped_policy(writes: Writes) -> None:
    """Make the mark of what is not mapped, the policy that hides it, and the bot, unless they are there.

    Raises
    ------
    Conflict : the policy does not hold, or there are no policies yet
    """
    check_policies(writes)
    writes.within(_make_mark, actor=SYSTEM)
    with suppress(Conflict):
        writes.ensure("user", BOT, actor=SYSTEM)
    _check_policy(writes)


def _make_mark(record: Record) -> None:
    """Make the mark and the policy, in one transaction: a reader that sees the one sees the other in force."""
    is_new = ensure(record, "classification", CLASSIFICATION).event is not None
    ensure(record, "tag", TAG)
    ensure(record, "role", ROLE)
    policy = ensure(record, "policy", POLICY).document
    team = record.transaction.find("team", Key.by_name(ORGANIZATION))
    if is_new and team is not None:
        policies = [*(team.document.get("policies") or ()), {"type": "policy", "id": policy["id"]}]
        change(record, record.resolver(), team, without_server_keys(team.document) | {"policies": policies})


def _check_policy(writes: Writes) -> None:
    """Check that what is not mapped is hidden, before anything of it is written."""
    if not writes.within(_hides_unmapped, actor=SYSTEM):
        raise Conflict(
            f"{POLICY_NAME} does not hide what is not mapped: restore its rule, enable it, and give it to the team "
            f"{ORGANIZATION}."
        )


def _hides_unmapped(record: Record) -> bool:
    policy = record.transaction.find("policy", Key.by_name(POLICY_NAME), Hold.SHARED)
    team = record.transaction.find("team", Key.by_name(ORGANIZATION), Hold.SHARED)
    if policy is None or team is None or policy.is_deleted:
        return False
    is_attached = any(one.get("id") == policy.id for one in team.document.get("policies") or ())
    hiding_rule = POLICY["rules"][0]
    keys = ("effect", "condition", "operations", "resources")
    rules = policy.document.get("rules") or ()
    has_rule = any(all(rule.get(key) == hiding_rule[key] for key in keys) for rule in rules)
    return is_attached and has_rule and policy.document.get("enabled") is not False

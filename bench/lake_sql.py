"""Benchmark of SQL on the lake: an aggregate over ten million events, for whoever may view all, and for others.

The lake is made as that of backtests. Events that somebody may view only in part are made into rows first, by the
decision of the API. Next: ``docs/lake.md``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from bench.backlog import size_at
from bench.backtest import multiply, scan
from bench.estate import build_estate
from bench.measured import Measurement, Report, in_alternation, scale_count
from bench.running import open_store, settings_in
from bench.traffic import append_events
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.lake import ALWAYS
from tocsin.jobs import lake
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.lake_queries import LakeQueries, QueryLimits
from tocsin.jobs.visible_history import visibility_of
from tocsin.model.people import SYSTEM
from tocsin.model.query_answer import QueryAnswer
from tocsin.spark.lake import history
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

EVENT_COUNT, COPIES, DAYS, FOLLOW_COUNT = 10_000_000, 100, 365, 1_000
ROUND_COUNT = 3
_LIMITS = QueryLimits(10_000, seconds=3_600)
_SQL = "SELECT entityType, eventType, count(*) AS n, max(offset) AS last FROM change_events GROUP BY 1, 2"


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure events a second through one query, against a bare scan of the same columns."""
    count = scale_count(EVENT_COUNT // COPIES, scale, least=500)
    copies = COPIES if scale > 0.1 else 10
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        settings = settings_in(Path(folder))
        with open_store(settings) as (engine, _password), lake.open_lake(settings, engine) as parts:
            build_estate(engine, size_at(scale), follows=scale_count(FOLLOW_COUNT, scale, least=200))
            append_events(engine, count, report)
            viewer_id = _narrow_viewer(engine)
            grow(parts)
            multiply(parts, days=scale_count(DAYS, scale, least=5), copies=copies)
            queries = LakeQueries(parts)
            return [
                _measure(parts, "whoever may view everything", partial(queries.answer, _SQL, _LIMITS)),
                _measure(
                    parts,
                    "whoever may not view some tables",
                    partial(queries.answer_from_visible, viewer_id, _SQL, _LIMITS),
                ),
            ]


def _measure(parts: LakeParts, viewer: str, ask: Callable[[], QueryAnswer]) -> Measurement:
    extent, total = parts.extent_of(ALWAYS)

    def run() -> float:
        began_s = time.perf_counter()
        if not ask().records:
            raise AssertionError("the query gave no rows")
        return time.perf_counter() - began_s

    events = history(parts.session, parts.place, extent)
    rounds = in_alternation(run, lambda: scan(events), rounds=ROUND_COUNT, warm_ups=0)
    return rounds.rate("lake_sql", f"types of {total:,} events; {viewer}", "events/s", total)


def _narrow_viewer(engine: Engine) -> str:
    """Return the id of somebody who may not view tables with a tag that none has, so that each is asked about."""
    writes = Writes(SqlCatalogue(engine), SystemClock())
    rule = {"name": "no", "effect": "deny", "operations": ["ViewBasic"], "resources": ["table"]}
    policy = {"name": "narrow", "rules": [{**rule, "condition": "matchAnyTag('PII.None')"}]}
    put = partial(writes.upsert, actor=SYSTEM)
    policy_id = put("policy", policy).document["id"]
    role_id = put("role", {"name": "narrow", "policies": [{"id": policy_id, "type": "policy"}]}).document["id"]
    person = {"name": "narrow", "email": "narrow@example.com", "roles": [{"id": role_id, "type": "role"}]}
    person_id = str(put("user", person).document["id"])
    if visibility_of(engine, person_id).is_whole:
        raise AssertionError("the viewer may view everything")
    return person_id

"""History of Fernhill's year: all steps in order, generated from one seed.

Pure: the same ``now_ms`` and seed give the same steps, and nothing is written. Next: ``sample/load.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tocsin.model.entity import Document
from tocsin.sample import edits, rows
from tocsin.sample.assets import Asset, assets, team_of
from tocsin.sample.calendar import DAYS, MINUTE_MS, Calendar
from tocsin.sample.columns import column, wider
from tocsin.sample.company import DEMO_FOLLOWS, DEMO_PERSON, PEOPLE, PersonRow
from tocsin.sample.edits import SOURCES, AssetDraft, Operations, edit, later_columns
from tocsin.sample.first_weeks import CATALOGUER, arrivals, births, case_fqn, first_morning, test_cases
from tocsin.sample.rows import PipelineRow
from tocsin.sample.steps import ChangeStep, Follow, ReportResult, ReportRun, RestoreEntity, Retire, SampleStep

_DRIFTS = 46
_FOLLOWED_BY_STAGING = 0.6
_STAGERS = ("tomas.ferreira", "ingrid.solheim", "dana.whitlock")


@dataclass(frozen=True)
class ColumnChange:
    """One column of one table changes: ``kind`` is ``add``, ``drop`` or ``widen``."""

    at_ms: int
    actor: str
    fqn: str
    kind: str
    column: str

    def operations(self, draft: AssetDraft) -> Operations:
        """Return the operations that do it to an asset; none where the copy has gone its own way."""
        match self.kind:
            case "add":
                return edits.add_column(draft, self.column)
            case "drop":
                return edits.drop_column(draft, self.column)
            case _:
                kind = wider(column(self.column))
                return edits.retype_column(draft, self.column, kind) if kind else ()


def column_changes(
    assets: Sequence[Asset], tested_columns: frozenset[tuple[str, str]], calendar: Calendar, rng: Random
) -> Iterator[ColumnChange]:
    """Yield the column changes of the year, in no order; a column that is tested (table, column) is never dropped."""
    sources = [asset for asset in assets if asset.layer in SOURCES]
    copies = {asset.inputs[0]: asset for asset in assets if asset.layer in ("raw", "staging") and asset.inputs}
    for source in rng.choices(sources, [_restlessness(one) for one in sources], k=_DRIFTS):
        kind = rng.choices(("add", "drop", "widen"), (6, 2, 3))[0]
        column_name = _column(source, kind, tested_columns, rng)
        day = rng.randint(15, 355)
        if column_name is not None:
            column_change = ColumnChange(calendar.by_night(day, rng), CATALOGUER, source.fqn, kind, column_name)
            yield column_change
            yield from _followers(column_change, copies, (day, calendar), rng)


def _followers(
    column_change: ColumnChange, copies: dict[str, Asset], since: tuple[int, Calendar], rng: Random
) -> Iterator[ColumnChange]:
    day, calendar = since
    raw = copies.get(column_change.fqn)
    if raw is None:
        return
    yield replace(column_change, at_ms=calendar.by_night(day + 1, rng), fqn=raw.fqn)
    staging = copies.get(raw.fqn)
    if staging is not None and rng.random() < _FOLLOWED_BY_STAGING:
        at_ms = calendar.by_day(day + rng.randint(2, 7), rng)
        yield replace(column_change, at_ms=at_ms, actor=rng.choice(_STAGERS), fqn=staging.fqn)


def _column(source: Asset, kind: str, tested_columns: frozenset[tuple[str, str]], rng: Random) -> str | None:
    if kind == "add":
        return rng.choice(later_columns(source.domain))
    all_names = [str(one["name"]) for one in source.request["columns"][1:]]
    names = [name for name in all_names if (source.fqn, name) not in tested_columns]
    if kind == "widen":
        names = [name for name in names if wider(column(name))]
    elif len(names) < 5:
        return None
    return rng.choice(names) if names else None


def _restlessness(source: Asset) -> int:
    if source.fqn in DEMO_FOLLOWS:
        return 12
    return 4 if "Tier.Tier1" in {label["tagFQN"] for label in source.request["tags"]} else 1


SEED = 1987

_BUSY_DAYS = 0.46  # share of workdays on which anybody edits anything
_MOST_EDITS_AT_ONCE = 14
_FOLLOWS_WHAT_IS_EDITED = 0.12
_STAYS_WITH_IT = 0.5
_RETIRED = (
    ("superset.price_watch", "felix.brandt", 188),
    ("snowflake_dwh.warehouse.raw.logistics_packaging_types", "kwame.boateng", 231),
    ("superset.refunds_by_reason", "anton.keller", 262),
    ("airflow.review_site_ingest", "arjun.nair", 317),
)
_RETIRED_FQNS = frozenset(fqn for fqn, _, _ in _RETIRED)
"""What is retired at some time, and so is left alone otherwise."""

_BROUGHT_BACK = (("superset.price_watch", "aiko.tanaka", 190),)
_LAYER_WEIGHTS = {"marts": 6, "dashboard": 3, "staging": 2, "pipeline": 2, "raw": 1}
_SOURCE_WEIGHT = 3


@dataclass(frozen=True)
class EditingSession:
    """A person edits a few things that belong together."""

    at_ms: int
    person: PersonRow
    edit_count: int


def history(now_ms: int, seed: int = SEED) -> list[SampleStep]:
    """Return the steps of the year before ``now_ms`` (epoch milliseconds), oldest first."""
    rng, calendar = Random(seed), Calendar(now_ms)  # noqa: S311  # a story, not a secret
    catalogue, tests, pipelines = assets(), rows.tests(), rows.pipelines()
    born = births(catalogue, calendar, rng)
    steps = [
        *first_morning(calendar),
        *arrivals(catalogue, born),
        *test_cases(tests, born, calendar, rng),
        *_edits(catalogue, born, calendar, rng),
        *_follows(catalogue, born, calendar, rng),
        *_retirements(catalogue, calendar),
        *results([case_fqn(test) for test in tests], calendar, rng),
        *runs([row for row in pipelines if f"airflow.{row.name}" not in _RETIRED_FQNS], calendar, rng),
    ]
    return sorted(steps, key=lambda step: step.at_ms)


def _edits(catalogue: Sequence[Asset], born: dict[str, int], calendar: Calendar, rng: Random) -> Iterator[SampleStep]:
    """Yield what people and the drifting database change, drawn in the order in which it happens."""
    open_drafts = {asset.fqn: AssetDraft(asset) for asset in catalogue if asset.fqn not in _RETIRED_FQNS}
    tested_columns = frozenset((test.table, test.column) for test in rows.tests() if test.column)
    moments: list[EditingSession | ColumnChange] = [
        *_sessions(calendar, rng),
        *column_changes(catalogue, tested_columns, calendar, rng),
    ]
    free_at_ms = 0  # one after another: an edit must find what the one before it left
    for moment in sorted(moments, key=lambda one: one.at_ms):
        at_ms = max(moment.at_ms, free_at_ms)
        present = {fqn: draft for fqn, draft in open_drafts.items() if born[fqn] + 60 * MINUTE_MS < at_ms}
        for step in _moment_steps(moment, present, at_ms, rng):
            free_at_ms = step.at_ms + MINUTE_MS
            yield step


def _moment_steps(
    moment: EditingSession | ColumnChange, present: dict[str, AssetDraft], at_ms: int, rng: Random
) -> Iterator[SampleStep]:
    match moment:
        case EditingSession():
            yield from _session_steps(moment, list(present.values()), at_ms, rng)
        case ColumnChange(fqn=fqn) if fqn in present:
            operations = present[fqn].apply(moment.operations(present[fqn]))
            if operations:
                yield SampleStep(at_ms, moment.actor, ChangeStep("table", fqn, operations))


def _sessions(calendar: Calendar, rng: Random) -> Iterator[EditingSession]:
    for day in calendar.workdays():
        if rng.random() < _BUSY_DAYS:
            for _ in range(1 + int(rng.expovariate(1.6))):
                person = rng.choices(PEOPLE, [one.busyness for one in PEOPLE])[0]
                count = min(1 + int(rng.expovariate(0.45)), _MOST_EDITS_AT_ONCE)
                yield EditingSession(calendar.by_day(day, rng), person, count)


def _session_steps(session: EditingSession, present: list[AssetDraft], at_ms: int, rng: Random) -> Iterator[SampleStep]:
    draft = _choose_asset(present, session.person, rng)
    for _ in range(session.edit_count):
        operations = edit(draft, rng, governs=session.person.team == "DataGovernance")
        if operations:
            yield SampleStep(
                at_ms, session.person.name, ChangeStep(draft.asset.entity_type, draft.asset.fqn, operations)
            )
        if operations and rng.random() < _FOLLOWS_WHAT_IS_EDITED:
            yield SampleStep(at_ms + 5_000, session.person.name, Follow(draft.asset.entity_type, draft.asset.fqn))
        at_ms += rng.randint(1, 9) * MINUTE_MS
        if rng.random() > _STAYS_WITH_IT:
            draft = _choose_asset(present, session.person, rng)


def _choose_asset(present: list[AssetDraft], person: PersonRow, rng: Random) -> AssetDraft:
    """Return the asset that a person edits: mostly their own, and preferably an important one."""
    return rng.choices(present, [_pull(draft, person) for draft in present])[0]


def _pull(draft: AssetDraft, person: PersonRow) -> int:
    owners = {one["name"] for one in draft.document["owners"]}
    closeness = 8 if person.name in owners else 4 if person.team in owners else 1
    matters = 3 if "Tier.Tier1" in draft.tags else 1
    fame = 5 if draft.asset.fqn in DEMO_FOLLOWS else 1  # what everybody looks at first has something to show
    return closeness * matters * fame * _LAYER_WEIGHTS.get(draft.asset.layer, _SOURCE_WEIGHT)


def _follows(catalogue: Sequence[Asset], born: dict[str, int], calendar: Calendar, rng: Random) -> Iterator[SampleStep]:
    """Yield who starts to follow what: the demo person what the documents name, others what they work with."""
    by_fqn = {asset.fqn: asset for asset in catalogue}
    for fqn in DEMO_FOLLOWS:
        day = calendar.day_of(born[fqn]) + 3
        yield SampleStep(calendar.by_day(day, rng), DEMO_PERSON, Follow(by_fqn[fqn].entity_type, fqn))
    for person in PEOPLE:
        near = [asset for asset in catalogue if _works_with(person, asset) and asset.fqn not in _RETIRED_FQNS]
        for asset in rng.sample(near, k=min(len(near), rng.randint(1, 4))):
            day = calendar.day_of(born[asset.fqn]) + rng.randint(1, 30)
            yield SampleStep(calendar.by_day(day, rng), person.name, Follow(asset.entity_type, asset.fqn))


def _works_with(person: PersonRow, asset: Asset) -> bool:
    if asset.layer in ("raw", "staging"):
        return False
    owners = {one["name"] for one in asset.request["owners"]}
    return team_of(asset.domain) == person.team or person.team in owners or "Tier.Tier1" in str(asset.request["tags"])


def _retirements(catalogue: Sequence[Asset], calendar: Calendar) -> Iterator[SampleStep]:
    types = {asset.fqn: asset.entity_type for asset in catalogue}
    for fqn, actor, day in _RETIRED:
        yield SampleStep(calendar.at(day, 15), actor, Retire(types[fqn], fqn))
    for fqn, actor, day in _BROUGHT_BACK:
        yield SampleStep(calendar.at(day, 10), actor, RestoreEntity(types[fqn], fqn))


_TESTED_DAYS = 4
_RUN_DAYS = 5
_FAILING = "snowflake_dwh.warehouse.marts.fct_orders.orders_match_the_shop"
_FAILED_TESTS = 0.05
_FAILED_RUNS = 0.06


def results(cases: Sequence[str], calendar: Calendar, rng: Random) -> Iterator[SampleStep]:
    """Yield the daily results of test cases (FQNs); one test has failed for days, others now and then."""
    for day in range(DAYS - _TESTED_DAYS, DAYS):
        for place, fqn in enumerate(cases):
            at_ms = calendar.at(day, 7) + place * 2_000
            failed = fqn == _FAILING or rng.random() < _FAILED_TESTS
            yield SampleStep(at_ms, "quality-bot", ReportResult(fqn, _result(at_ms, failed=failed)))


def runs(pipelines: Sequence[PipelineRow], calendar: Calendar, rng: Random) -> Iterator[SampleStep]:
    """Yield a run a day of each pipeline."""
    for day in range(DAYS - _RUN_DAYS, DAYS):
        for place, row in enumerate(pipelines):
            at_ms = calendar.at(day, 6) + place * MINUTE_MS
            failed_at = rng.randrange(len(row.tasks)) if rng.random() < _FAILED_RUNS else None
            yield SampleStep(at_ms, "airflow-bot", ReportRun(f"airflow.{row.name}", _run(row, at_ms, failed_at)))


def _result(at_ms: int, *, failed: bool) -> Document:
    status, text = ("Failed", "Unexpected values found.") if failed else ("Success", "All checks passed.")
    return {"timestamp": at_ms, "testCaseStatus": status, "result": text}


def _run(row: PipelineRow, at_ms: int, failed_at: int | None) -> Document:
    """Return the state of a run whose task number ``failed_at`` failed, or of one in which all went well."""
    done_count = len(row.tasks) if failed_at is None else failed_at
    outcomes = ["Successful"] * done_count + ["Failed"] * (failed_at is not None)
    return {
        "timestamp": at_ms,
        "executionStatus": "Successful" if failed_at is None else "Failed",
        "taskStatus": [
            {"name": name, "executionStatus": outcome} for name, outcome in zip(row.tasks, outcomes, strict=False)
        ],
    }

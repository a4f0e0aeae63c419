"""Optional fields of entities that are stored outside their documents, for ``fields=``: one function per field.

Each function answers for a whole page. Next: ``store/catalogue/observations/series.py``,
``store/catalogue/quality/suites.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tocsin.access.person_visibility import Visibility
from tocsin.catalogue.feed import votes
from tocsin.catalogue.observations.joins import JOINS, summary
from tocsin.catalogue.observations.pipeline_observability import OBSERVABILITY, entries_of
from tocsin.catalogue.observations.profiles import TABLE_PROFILE
from tocsin.catalogue.observations.samples import QUERY
from tocsin.catalogue.observations.table_details import CONFIG, METRICS
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.server.build import Parts
from tocsin.store.catalogue.access.visibility import Scopes

_DAY_MS = 86_400_000
_OF_MANY_TYPES = frozenset({"votes", "usageSummary"})

SUMMARY = "summary"
"""The field with the test results of a suite."""

Values = dict[str, object]
"""What entities have of one field, by their ids."""

Field = Callable[[Parts, Sequence[Document]], Values]


def included_values(
    kind: EntityType, documents: Sequence[Document], parts: Parts, fields: frozenset[str]
) -> list[Document]:
    """Return for each entity the requested optional fields but those that depend on the requester.

    Those are ``SUMMARY`` (see ``summaries``) and ``OBSERVABILITY`` (see ``pipeline_observability``).
    """
    extras: list[Document] = [{} for _ in documents]
    if not documents:
        return extras
    for name in sorted(fields & (kind.separate_keys | (kind.keys & _OF_MANY_TYPES)) & _FIELDS.keys()):
        values = _FIELDS[name](parts, documents)
        for extra, document in zip(extras, documents, strict=True):
            if document["id"] in values:
                extra[name] = values[document["id"]]
    if METRICS in fields & kind.separate_keys:
        for extra, columns in zip(extras, _columns(parts, documents), strict=True):
            extra |= {"columns": columns} if columns else {}
    return extras


def summaries(parts: Parts, suites: Sequence[Document], scopes: Scopes) -> dict[str, Document]:
    """Return the test results of suites by suite id, counting tests that these scopes may see."""
    return parts.reports.suites.summaries(_ids(suites), scopes)


def pipeline_observability(
    parts: Parts, tables: Sequence[Document], visibility: Visibility
) -> dict[str, list[Document]]:
    """Return what is known of the pipelines of each table, by table id, counting those that may be seen."""
    observations = parts.reports.observations.attachments(_ids(tables), OBSERVABILITY)
    pipeline_ids = sorted({pipeline for kept in observations.values() for pipeline in kept})
    live = parts.catalogue.live(pipeline_ids) if pipeline_ids else []
    visible = visibility.sees(live)
    pipelines = {one["id"]: one for one in live if one["id"] in visible}
    return {table_id: entries_of(kept, pipelines) for table_id, kept in observations.items()}


def _suite(parts: Parts, tables: Sequence[Document]) -> Values:
    by_fqn = {table["fullyQualifiedName"]: table["id"] for table in tables}
    suites = parts.reports.suites.of_tables(list(by_fqn))
    return {by_fqn[fqn]: suite for fqn, suite in suites.items()}


def _attachment_of(kind: str, value_of: Callable[[Document], object] = lambda stored: stored) -> Field:
    """Return the reader of a field that is attached to entities as one document of this kind."""

    def read(parts: Parts, entities: Sequence[Document]) -> Values:
        attachments = parts.reports.observations.attachments(_ids(entities), kind)
        return {entity_id: value_of(stored) for entity_id, stored in attachments.items()}

    return read


def _joins(parts: Parts, tables: Sequence[Document]) -> Values:
    joins = parts.reports.observations.attachments(_ids(tables), JOINS)
    return {table_id: summary(kept, _today(parts)) for table_id, kept in joins.items()}


def _usage(parts: Parts, used: Sequence[Document]) -> Values:
    return dict(parts.reports.usage.summaries(_ids(used), _today(parts)))


def _columns(parts: Parts, tables: Sequence[Document]) -> list[list[Document]]:
    """Return the columns of each table with their metrics; none of a table that has no metrics."""
    metrics_by_table = parts.reports.observations.attachments(_ids(tables), METRICS)
    return [
        [_with_metrics(column, metrics_by_table[table["id"]]["metrics"]) for column in table.get("columns") or ()]
        if table["id"] in metrics_by_table
        else []
        for table in tables
    ]


def _with_metrics(column: Document, metrics: Sequence[Document]) -> Document:
    column_metrics = [metric for metric in metrics if metric.get("columnName") == column["name"]]
    return column | ({METRICS: column_metrics} if column_metrics else {})


def _incident(parts: Parts, cases: Sequence[Document]) -> Values:
    """Return the state of the last incident of each test case; clients of 1.13 have no such field."""
    return dict(parts.reports.incidents.latest_of(_ids(cases))) if parts.settings.is_api_since(2) else {}


def _votes(parts: Parts, assets: Sequence[Document]) -> Values:
    votes_by_asset = parts.reports.observations.attachments(_ids(assets), votes.KIND)
    voters = {user for kept in votes_by_asset.values() for side in kept.values() for user in side}
    users = {user["id"]: user for user in parts.catalogue.live(sorted(voters))} if voters else {}
    return {asset["id"]: _vote(votes_by_asset.get(asset["id"], {}), users) for asset in assets}


def _vote(voter_ids: Document, users: Document) -> Document:
    sides = {
        side: [users[user] for user in voter_ids.get(side, ()) if user in users] for side in ("upVoters", "downVoters")
    }
    return votes.vote_counts(sides) | sides


def _ids(entities: Sequence[Document]) -> list[str]:
    return [entity["id"] for entity in entities]


def _today(parts: Parts) -> int:
    return parts.clock.now_ms() // _DAY_MS


_FIELDS: dict[str, Field] = {
    "customMetrics": _attachment_of(METRICS, lambda kept: [one for one in kept["metrics"] if "columnName" not in one]),
    "incidentStatus": _incident,
    "inspectionQuery": _attachment_of(QUERY, lambda kept: kept[QUERY]),
    "joins": _joins,
    "profile": lambda parts, tables: dict(parts.reports.observations.latest(_ids(tables), TABLE_PROFILE)),
    "tableProfilerConfig": _attachment_of(CONFIG),
    "testSuite": _suite,
    "tests": lambda parts, suites: {suite_id: parts.reports.suites.tests(suite_id) for suite_id in _ids(suites)},
    "usageSummary": _usage,
    "votes": _votes,
}

"""Assets of Fernhill's catalogue, some 300, with their lineage.

The source database is defined table by table; the warehouse's raw and staging layers are derived from it.
Next: ``sample/history.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tocsin.model.entity import Document
from tocsin.sample import rows
from tocsin.sample.columns import column, tag_label
from tocsin.sample.company import DOMAINS

SOURCE = "postgres_prod.ecommerce"
WAREHOUSE = "snowflake_dwh.warehouse"
REPORTS = "superset"
PIPELINES = "airflow"

SOURCE_SCHEMAS = {
    "public": "Customers, products and orders.",
    "billing": "Invoices and money.",
    "logistics": "Stock, parcels, returns.",
    "support": "Tickets and answers of customer care.",
    "marketing": "Campaigns and the newsletter.",
    "rental": "Equipment that is rented out.",
}
WAREHOUSE_SCHEMAS = {
    "raw": "Loaded data, unchanged.",
    "staging": "Cleaned data with uniform names.",
    "marts": "Data for analysis.",
}
_TEAM_OF_LAYER = {"raw": "DataEngineering", "staging": "AnalyticsEngineering"}
_TEAM_OF_DOMAIN = {domain.name: domain.team for domain in DOMAINS}
_LEAST_TIER_STAGED = 4  # what matters less is loaded and left alone


@dataclass(frozen=True)
class Asset:
    """An asset: how it is created, its place, and its inputs.

    ``layer`` is its schema, or ``dashboard`` or ``pipeline``; ``inputs`` are FQNs; ``made_by`` is the pipeline.
    """

    entity_type: str
    fqn: str
    layer: str
    domain: str
    request: Document
    inputs: tuple[str, ...] = ()
    made_by: str | None = None


def places() -> list[tuple[str, Document]]:
    """Return (type, create request) of what holds the assets: services, databases, schemas; parents first."""
    services: list[tuple[str, Document]] = [
        ("databaseService", _service("postgres_prod", "Postgres", "The shop's own database.")),
        ("databaseService", _service("snowflake_dwh", "Snowflake", "The warehouse.")),
        ("dashboardService", _service(REPORTS, "Superset", "Dashboards of the company.")),
        ("pipelineService", _service(PIPELINES, "Airflow", "Scheduled jobs.")),
    ]
    databases: list[tuple[str, Document]] = [
        ("database", {"name": "ecommerce", "service": "postgres_prod", "description": "Data of the shop."}),
        ("database", {"name": "warehouse", "service": "snowflake_dwh", "description": "Data for analysis."}),
    ]
    schemas: list[tuple[str, Document]] = [
        ("databaseSchema", {"name": name, "database": database, "description": description})
        for database, descriptions in ((SOURCE, SOURCE_SCHEMAS), (WAREHOUSE, WAREHOUSE_SCHEMAS))
        for name, description in descriptions.items()
    ]
    return services + databases + schemas


def assets() -> list[Asset]:
    """Return every asset, each after those it is made from."""
    pipelines = rows.pipelines()
    sources, feeds = rows.source_tables(), rows.feeds()
    staged_tables = [row for row in sources if 1 <= row.tier <= _LEAST_TIER_STAGED]
    return [
        *(_pipeline(row) for row in pipelines),
        *(_table(row, f"{SOURCE}.{row.path}") for row in sources),
        *(_table(row, f"{WAREHOUSE}.raw.{row.path}", pipelines=pipelines) for row in feeds),
        *(_copy(row, _raw(row.path), f"{SOURCE}.{row.path}", pipelines) for row in sources),
        *(_copy(row, _staging_name(row.path), f"{WAREHOUSE}.{_raw(row.path)}", pipelines) for row in staged_tables),
        *(_table(row, f"{WAREHOUSE}.marts.{row.path}", pipelines=pipelines) for row in rows.marts()),
        *(_dashboard(row) for row in rows.dashboards()),
    ]


def team_of(domain: str) -> str:
    """Return the team that answers for a domain."""
    return _TEAM_OF_DOMAIN[domain]


def owner(kind: str, name: str) -> Document:
    """Return an owner as a request names it."""
    return {"type": kind, "name": name}


def title_of(name: str) -> str:
    """Return a name as people would write it above a page."""
    return name.replace("_", " ").capitalize()


def _service(name: str, kind: str, description: str) -> Document:
    return {"name": name, "serviceType": kind, "description": description}


def _raw(path: str) -> str:
    return "raw." + path.replace(".", "_")


def _staging_name(path: str) -> str:
    return "staging.stg_" + path.partition(".")[2]


def _in_warehouse(name: str) -> str:
    """Return the FQN of what ``marts.csv`` or ``dashboards.csv`` calls by a short name."""
    schema = "" if "." in name else "staging." if name.startswith("stg_") else "marts."
    return f"{WAREHOUSE}.{schema}{name}"


def _writer(path: str, pipelines: list[rows.PipelineRow]) -> str | None:
    """Return the FQN of the pipeline that writes a table of the warehouse (``schema.table``)."""
    writers = (row.name for row in pipelines if any(fnmatchcase(path, pattern) for pattern in row.writes))
    name = next(writers, None)
    return None if name is None else f"{PIPELINES}.{name}"


def _table(row: rows.TableRow, fqn: str, *, pipelines: list[rows.PipelineRow] | None = None) -> Asset:
    schema, _, name = fqn.rpartition(".")
    layer = schema.rpartition(".")[2]
    request: Document = {
        "name": name,
        "databaseSchema": schema,
        "tableType": "Regular",
        "description": row.description,
        "columns": [column(written) for written in row.columns],
        "owners": _owners(row.owner, _TEAM_OF_LAYER.get(layer, team_of(row.domain))),
        "domains": [row.domain],
        "tags": [tag_label(f"Tier.Tier{row.tier}")] if row.tier else [],
    }
    writer = _writer(f"{layer}.{name}", pipelines) if pipelines else None
    inputs = tuple(_in_warehouse(wanted) for wanted in row.inputs)
    return Asset("table", fqn, layer, row.domain, request, inputs, writer)


def _copy(row: rows.TableRow, path: str, original: str, pipelines: list[rows.PipelineRow]) -> Asset:
    """Return a table of the warehouse that holds what the table ``original`` holds, and when it was loaded."""
    described = f"{row.description} Loaded from {original}."
    # Copies matter less than what they are copied from, and belong to a team only.
    tier = min(row.tier + 1, 5) if row.tier else 0
    columns = (*row.columns, "loaded_at")
    copied = rows.TableRow(path, tier, row.domain, None, described, columns)
    return replace(_table(copied, f"{WAREHOUSE}.{path}", pipelines=pipelines), inputs=(original,))


def _dashboard(row: rows.DashboardRow) -> Asset:
    request: Document = {
        "name": row.name,
        "displayName": title_of(row.name),
        "service": REPORTS,
        "description": row.description,
        "owners": _owners(row.owner, team_of(row.domain)),
        "domains": [row.domain],
        "tags": [],
    }
    inputs = tuple(_in_warehouse(name) for name in row.inputs)
    return Asset("dashboard", f"{REPORTS}.{row.name}", "dashboard", row.domain, request, inputs)


def _pipeline(row: rows.PipelineRow) -> Asset:
    request: Document = {
        "name": row.name,
        "displayName": title_of(row.name),
        "service": PIPELINES,
        "description": row.description,
        "scheduleInterval": row.schedule,
        "tasks": [
            {"name": task, "downstreamTasks": list(after)}
            for task, after in zip(row.tasks, [*([name] for name in row.tasks[1:]), []], strict=True)
        ],
        "owners": _owners(row.owner, "DataEngineering"),
        "domains": [row.domain],
        "tags": [],
    }
    return Asset("pipeline", f"{PIPELINES}.{row.name}", "pipeline", row.domain, request)


def _owners(person: str | None, team: str) -> list[Document]:
    people = [owner("user", person)] if person else []
    return [*people, owner("team", team)]

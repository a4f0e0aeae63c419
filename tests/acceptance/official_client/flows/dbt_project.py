"""Artifacts of a dbt project with two models: the table of orders, and the view made from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DBT = {"dbt_version": "1.8.0", "generated_at": "2026-01-01T00:00:00Z"}
_TURNOVER = "select customer_id, sum(total) as total from main.orders group by customer_id"
_NOTHING = (
    "sources macros docs exposures metrics groups selectors disabled parent_map child_map group_map saved_queries"
    " semantic_models unit_tests"
)


def write_artifacts(folder: Path) -> dict[str, str]:
    """Write manifest and catalogue; return the configuration that names them."""
    models = [_model("orders", "select 1 as id"), _model("turnover", _TURNOVER, "model.shop.orders")]
    schemas = "https://schemas.getdbt.com/dbt"
    manifest = {
        "metadata": {**_DBT, "dbt_schema_version": f"{schemas}/manifest/v12.json", "adapter_type": "sqlite"},
        "nodes": {model["unique_id"]: model for model in models},
        **{name: {} for name in _NOTHING.split()},
    }
    catalogue = {
        "metadata": {**_DBT, "dbt_schema_version": f"{schemas}/catalog/v1.json"},
        "nodes": {model["unique_id"]: _catalogue_node(model) for model in models},
        "sources": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "catalog.json").write_text(json.dumps(catalogue))
    return {
        "dbtConfigType": "local",
        "dbtManifestFilePath": str(folder / "manifest.json"),
        "dbtCatalogFilePath": str(folder / "catalog.json"),
    }


def _model(name: str, sql: str, *above: str) -> dict[str, Any]:
    return {
        "database": "default",
        "schema": "main",
        "name": name,
        "alias": name,
        "resource_type": "model",
        "package_name": "shop",
        "path": f"{name}.sql",
        "original_file_path": f"models/{name}.sql",
        "unique_id": f"model.shop.{name}",
        "fqn": ["shop", name],
        "checksum": {"name": "sha256", "checksum": "x"},
        "depends_on": {"macros": [], "nodes": list(above)},
        "config": {"enabled": True, "materialized": "view"},
        "description": f"The model {name}.",
        "compiled": True,
        "compiled_code": sql,
        "raw_code": sql,
        "language": "sql",
        "relation_name": f"main.{name}",
        "created_at": 1.0,
        "columns": {},
        "meta": {},
        "docs": {"show": True},
        **{key: [] for key in ("tags", "refs", "sources", "metrics")},
    }


def _catalogue_node(model: dict[str, Any]) -> dict[str, Any]:
    metadata = {"type": "VIEW", "schema": "main", "name": model["name"], "database": "default", "owner": None}
    return {"metadata": metadata, "columns": {}, "stats": {}, "unique_id": model["unique_id"]}

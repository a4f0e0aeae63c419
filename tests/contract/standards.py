"""Locator of OpenMetadata's published schemas, and validation of documents against them.

They are next to the repository (``../shared/standards/schemas``), or where TOCSIN_TEST_STANDARDS says.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from tests.serving import Json

from tocsin.model.entity_types import ENTITY_TYPES

_BESIDE = Path(__file__).resolve().parents[3] / "shared/standards/schemas"
ROOT = Path(os.environ.get("TOCSIN_TEST_STANDARDS", _BESIDE)).resolve()

MISSING = "the published schemas are not here; set TOCSIN_TEST_STANDARDS"
needs_standards = pytest.mark.skipif(not ROOT.is_dir(), reason=MISSING)

SCHEMAS = {
    **{name: f"entity/services/{name}.json" for name in ENTITY_TYPES if name.endswith("Service")},
    "ingestionPipeline": "entity/services/ingestionPipelines/ingestionPipeline.json",
    **{name: f"entity/data/{name}.json" for name in ("glossary", "glossaryTerm", "metric", "query")},
    **{name: f"entity/data/{name}.json" for name in ("database", "databaseSchema", "table", "storedProcedure")},
    **{name: f"entity/data/{name}.json" for name in ("dashboard", "chart", "report", "dashboardDataModel")},
    **{name: f"entity/data/{name}.json" for name in ("topic", "pipeline")},
    **{name: f"entity/data/{name}.json" for name in ("mlmodel", "container", "searchIndex")},
    **{name: f"entity/data/{name}.json" for name in ("apiCollection", "apiEndpoint")},
    **{name: f"entity/classification/{name}.json" for name in ("classification", "tag")},
    **{name: f"entity/domains/{name}.json" for name in ("domain", "dataProduct")},
    **{name: f"entity/teams/{name}.json" for name in ("user", "team", "role")},
    "policy": "entity/policies/policy.json",
    "bot": "entity/bot.json",
    "type": "entity/type.json",
    **{name: f"tests/{name}.json" for name in ("testDefinition", "testSuite", "testCase")},
    "eventsubscription": "events/eventSubscription.json",
    "notificationTemplate": "entity/events/notificationTemplate.json",
}
"""The schema of every type that OpenMetadata publishes; the others say their ``shapes`` themselves."""

assert SCHEMAS.keys() == {name for name, row in ENTITY_TYPES.items() if not row.shapes}

CREATES = {
    path.stem.removeprefix("create").lower(): str(path.relative_to(ROOT)) for path in ROOT.glob("api/**/create*.json")
} | {
    "eventsubscription": "events/api/createEventSubscription.json",
    "report": "entity/data/report.json",  # OpenMetadata takes the entity itself
}
"""The schema of the request that creates one, by the type's name in lower case."""


def problems(schema: str, document: Json) -> list[str]:
    """Return what is wrong with a document by a schema."""
    errors = [error for error in validator(schema).iter_errors(document) if not _is_right(error)]
    return [f"{list(error.absolute_path)}: {error.message[:300]}" for error in errors]


@cache
def validator(schema: str) -> Draft7Validator:
    """Return what checks documents by one schema; without the schemas, the test that asks ends here as skipped."""
    if not ROOT.is_dir():
        pytest.skip(MISSING)
    path = ROOT / schema
    return Draft7Validator({**json.loads(_text(path)), "$id": f"file://{path}"}, registry=_registry())


@cache
def _registry() -> Registry[Any]:
    """Return all schemas by the paths of their files: upstream's ``$id`` do not agree with those.

    One that is retrieved when a reference leads to it is forgotten after the reference, and parsed again for the next.
    """
    resources = {
        uri: Resource.from_contents({**json.loads(_text(path)), "$id": uri})
        for path in ROOT.rglob("*.json")
        if (uri := f"file://{path}")
    }
    return Registry().with_resources(resources.items()).crawl()


def schema(name: str) -> Json:
    """Return a published schema."""
    return json.loads(_text(ROOT / name))


def _text(path: Path) -> str:
    return path.read_text().replace("(?U)", "")  # Java's way to say what Python's patterns mean anyway


def _is_right(error: ValidationError) -> bool:
    """Return whether the checker, not the value, is wrong: decimals without a binary form, or two valid forms.

    Every webhook's config fits two of the schema's forms, upstream's too.
    """
    if error.validator == "pattern" and str(error.instance).endswith("-cp"):
        return True  # upstream's own names of some kinds of custom property
    if error.validator == "multipleOf" and isinstance(error.instance, float):
        return round(error.instance, 1) == error.instance
    if error.validator == "oneOf" and not error.absolute_path:
        return "suggestionType" in str(error.validator_value)  # suggestions have no such key: upstream's mistake
    return error.validator == "oneOf" and error.absolute_path[-1] == "config" and "valid under each" in error.message

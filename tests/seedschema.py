"""Validator of change events by the schema that seeds/002 prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

SHARED = Path(__file__).parents[2] / "shared"
SEED = SHARED / "seeds" / "002_0a03c4068f01c188.txt"
SCHEMAS = SHARED / "standards" / "schemas"
MISSING = "the seeds and OpenMetadata's schemas do not lie beside this repository"
_ID = "https://open-metadata.org/schema/type/changeEvent.json"


def is_here() -> bool:
    """Return whether the seed and the basic types that its schema refers to are beside this repository."""
    return SEED.is_file() and SCHEMAS.is_dir()


def seed_validator() -> Draft7Validator:
    """Return a validator of the schema, strict about the types and ids that it refers to."""
    text = SEED.read_text()
    schema, _ = json.JSONDecoder().raw_decode(text, text.index("{", text.index("Schema Specifications")))
    assert schema["$id"] == _ID

    def retrieve(uri: str) -> Resource[Any]:
        path = SCHEMAS / uri.removeprefix("https://open-metadata.org/schema/")
        return Resource.from_contents(json.loads(path.read_text()), default_specification=DRAFT7)

    return Draft7Validator(schema, registry=Registry(retrieve=retrieve), format_checker=FormatChecker())  # type: ignore[call-arg]  # attrs hides it

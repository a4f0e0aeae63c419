"""Standard entities of every catalogue, which OpenMetadata's connectors refer to without creating them.

These are the test definitions, the system templates of notifications, and the classifications Tier, PII, PersonalData
and Certification with their tags, in the JSON files of this folder; names and parameters are upstream's, the texts are
ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import orjson

from tocsin.catalogue.governance.custom_properties import standard_types
from tocsin.catalogue.templates import defaults
from tocsin.catalogue.writes import Writes
from tocsin.flow.capture.upsert import ensure
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Written


def standards() -> Iterator[tuple[str, Document]]:
    """Yield the requests that create the standards, each with its type, and after those that it names."""
    for entity_type, requests in _contents("standard_tags.json").items():
        yield from ((entity_type, {**request, "provider": "system"}) for request in requests)
    yield from (("type", request) for request in standard_types(iter(ENTITY_TYPES)))
    yield from (("notificationTemplate", request) for request in defaults().values())
    yield from (("testDefinition", request) for request in _contents("test_definitions.json"))


def establish(writes: Writes) -> None:
    """Create the standards that are not there yet; those that are there stay as they are."""
    writes.within(_establish, actor=SYSTEM)


def _establish(record: Record) -> Written:
    written = [ensure(record, entity_type, request) for entity_type, request in standards()]
    return written[-1]


def _contents(file: str) -> Any:  # Any: whatever JSON the file holds
    return orjson.loads(files("tocsin.catalogue").joinpath(file).read_bytes())

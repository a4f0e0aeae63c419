"""Register of checks: each is one claim about what the official client gets back, with its name and its methods.

Runs in the official client's own environment, never in Tocsin's.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.type.entityReference import EntityReference
from speaking import create_everything

SCHEMA = "pg.shop.public"
_COLUMNS = [
    {"name": "id", "dataType": "BIGINT"},
    {"name": "email", "dataType": "VARCHAR", "dataLength": 320, "description": "Where to write."},
    {"name": "address", "dataType": "STRUCT", "children": [{"name": "street", "dataType": "STRING"}]},
]
_WAIT_S = 20.0


class Watched:
    """The client, which remembers which of its methods a check has called."""

    def __init__(self, metadata: Any) -> None:
        self.metadata = metadata
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self.metadata, name)


@dataclass
class CheckSetup:
    """What checks work with: the client, one entity of every type, and new tables on demand."""

    metadata: Any
    entities: dict[str, Any]
    entities_by_type: dict[str, Any] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def name(self, prefix: str = "new") -> str:
        """Return a name that nothing has yet."""
        return f"{prefix}_{next(self.numbers)}"

    def table(self, **fields: Any) -> Any:
        """Create a table of a check's own."""
        request = CreateTableRequest(
            **{"name": self.name("table"), "databaseSchema": SCHEMA, "columns": _COLUMNS, **fields}
        )
        return self.metadata.create_or_update(request)

    def ref(self, key: str) -> EntityReference:
        """Return a reference to one of the entities that are there, by its type and name (``User olga``)."""
        return reference(self.entities[key])


Work = Callable[[CheckSetup], None]


@dataclass(frozen=True)
class Check:
    """A claim: its name, the methods of the client that it must call, and the work that fails if it is not so."""

    name: str
    methods: frozenset[str]
    work: Work


CHECKS: list[Check] = []


def check(methods: str, claim: str) -> Callable[[Work], Work]:
    """Register a function as the check of a claim about these methods of the client."""

    def register(work: Work) -> Work:
        name = f"{methods.replace(' ', ', ')}: {claim}".removeprefix(": ")
        CHECKS.append(Check(name, frozenset(methods.split()), work))
        return work

    return register


def results(metadata: Any) -> Iterator[tuple[str, str]]:
    """Run all checks; yield for each its name and why it failed, or nothing."""
    watched = Watched(metadata)
    setup = CheckSetup(watched, create_everything(metadata))
    for registered_check in CHECKS:
        watched.called.clear()
        yield registered_check.name, _failure(registered_check, setup, watched)


def _failure(registered_check: Check, setup: CheckSetup, watched: Watched) -> str:
    try:
        registered_check.work(setup)
    except Exception as error:  # noqa: BLE001  whatever it is, the check failed
        frames = traceback.extract_tb(error.__traceback__)
        place = next((at for at in reversed(frames) if Path(at.filename).parent.name == "checks"), frames[-1])
        message = f"{type(error).__name__}: {error}".replace("\n", " ")[:700]
        return f"{Path(place.filename).name}:{place.lineno} `{place.line}` {message}"
    missing = registered_check.methods - watched.called
    return f"it never called {', '.join(sorted(missing))}" if missing else ""


def reference(entity: Any) -> EntityReference:
    """Return a reference to an entity."""
    name = type(entity).__name__
    type_names = {"APICollection": "apiCollection", "APIEndpoint": "apiEndpoint", "MlModel": "mlmodel"}
    return EntityReference(id=entity.id, type=type_names.get(name, name[0].lower() + name[1:]))


def id_of(entity: Any) -> str:
    """Return an entity's id as text."""
    return str(entity.id.root)


def id_of_ref(entity_reference: EntityReference) -> str:
    """Return the id that a reference holds, as text."""
    return str(entity_reference.id.root)


def text(value: Any) -> str:
    """Return a name or an FQN as text."""
    return str(getattr(value, "root", value))


def until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition holds and return its value; fails after 20 s."""
    end = time.monotonic() + _WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come to pass within 20 s"
        time.sleep(0.05)
    return value


def status_of_refusal(work: Callable[[], Any]) -> int:
    """Return the code with which the server refused the work; fails if it did not."""
    from metadata.ingestion.ometa.client import APIError

    try:
        work()
    except APIError as error:
        return int(error.status_code or error.code)
    raise AssertionError("it was not refused")

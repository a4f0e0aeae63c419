"""Route of the connection test definitions that connectors read at their start.

OpenMetadata keeps a list of test steps for each connector. Tocsin requires none: a connector's first read is its test,
and its failure has the source's own message. Next: ``server/routes/entities/crud.py``.
"""

from __future__ import annotations

from typing import Annotated
from uuid import uuid5

from fastapi import Path, Response

from tocsin.model.notification import NAMESPACE
from tocsin.server.http.paths import API
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, answer

_SUFFIX = ".testConnectionDefinition"
_FOUNDED_MS = 0

router = DeclaredRoutes(prefix="/services/testConnectionDefinitions", tags=["system"])


@router.get(
    "/name/{connector}.testConnectionDefinition", openapi_extra=answers("TestConnectionDefinition", never="403")
)
def read_definition(connector: Annotated[str, Path(pattern=r"^\w{1,100}$")], caller: Asked) -> Response:
    """Return the test-connection steps of a connector: none."""
    name = f"{connector}{_SUFFIX}"
    entity_id = str(uuid5(NAMESPACE, name))
    return answer(
        {
            "id": entity_id,
            "name": connector,
            "fullyQualifiedName": name,
            "displayName": f"{connector} Test Connection",
            "description": "The connection is tested by the connector's first run.",
            "steps": [],
            "version": 0.1,
            "updatedAt": _FOUNDED_MS,
            "updatedBy": "system",
            "href": f"{caller.root}{API}/services/testConnectionDefinitions/name/{name}",
            "deleted": False,
        }
    )

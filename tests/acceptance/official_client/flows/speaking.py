"""Connection of a flow to the server under test, through the official client as a connector uses it.

Runs in the official client's own environment, never in Tocsin's.
"""

from __future__ import annotations

import os
from typing import Any

from everything import EVERYTHING
from metadata.generated.schema.entity.services.connections.metadata.openMetadataConnection import (
    OpenMetadataConnection,
)
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.security.client.openMetadataJWTClientConfig import OpenMetadataJWTClientConfig
from metadata.ingestion.ometa.ometa_api import OpenMetadata


def connect() -> OpenMetadata:
    """Return a client of the server that the environment names."""
    security = OpenMetadataJWTClientConfig(jwtToken=os.environ["TOCSIN_TOKEN"])
    return OpenMetadata(
        OpenMetadataConnection(
            hostPort=f"{os.environ['TOCSIN_SERVER']}/api", authProvider="openmetadata", securityConfig=security
        )
    )


def create_everything(metadata: OpenMetadata) -> dict[str, Any]:
    """Create one of everything; return the entities by type and name (``Table orders``)."""
    return {f"{kind.__name__} {name}": put(metadata, request, name, rest) for kind, request, name, rest in EVERYTHING}


def put(metadata: OpenMetadata, request: type, name: str, fields: dict[str, Any]) -> Any:
    """Create or update one entity as a connector does, through its create request."""
    if "service" in request.model_fields and "service" not in fields:  # an ingestion pipeline names it by id
        service = metadata.get_by_name(DatabaseService, "pg")
        fields = fields | {"service": {"id": str(service.id.root), "type": "databaseService"}}
    return metadata.create_or_update(request(name=name, **fields))


def fqn_of(entity: Any) -> str:
    """Return an entity's fully qualified name as text."""
    name = entity.fullyQualifiedName
    return str(getattr(name, "root", name))

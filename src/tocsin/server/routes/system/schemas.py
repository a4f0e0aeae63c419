"""Route of the published JSON Schemas, under the path of their ``$id``.

Next: ``server/openapi/published_schemas.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from tocsin.errors import NotFound
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.published_schemas import published_schemas

router = DeclaredRoutes(include_in_schema=False)


@router.get("/schema/{path:path}")
def read_schema(path: Annotated[str, Path(max_length=200)]) -> Response:
    """Return a schema, as ``https://open-metadata.org/schema/…`` is to name it."""
    schema = published_schemas().get(path)
    if schema is None:
        raise NotFound(f"There is no schema {path!r}; there are {', '.join(sorted(published_schemas()))}.")
    return Response(schema, media_type="application/schema+json")

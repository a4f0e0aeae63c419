"""Paths of OpenMetadata's API that Tocsin does not serve, each with what to use instead.

Its client and its workflows ask for some of them. Next: ``server/http/errors.py``.
"""

from __future__ import annotations

import re

_PAGE = "docs/openmetadata-client.md"
_PATH = re.compile(r"/api/v1/(\w+)(?:/.*)?", re.DOTALL)

_INSIGHTS = "there are no data insights, KPIs or web analytics"
_CONNECTIONS = "the server opens no connections to sources; the first run of a connector tests its own"

UNSERVED: dict[str, str] = {
    "analytics": _INSIGHTS,
    "apps": "there are no applications; the search index follows the log",
    "automations": _CONNECTIONS,
    "dataContracts": "there are no data contracts",
    "dataInsights": _INSIGHTS,
    "docStore": "there is no document store",
    "drives": "drives, files and worksheets are no entity types here",
    "governance": "there are no workflow definitions; alerts notify of changes",
    "kpi": _INSIGHTS,
    "mcp": "there is no MCP server",
    "personas": "there are no personas",
    "scim": "people come from logins, or from the users API",
}
"""By the first word of the path under ``/api/v1``, what is used instead."""


def unserved_hint(path: str) -> str | None:
    """Return the error for this path, if OpenMetadata serves it and Tocsin does not."""
    match = _PATH.fullmatch(path)
    if match is None or match[1] not in UNSERVED:
        return None
    return f"/{match[1]} of OpenMetadata is not served: {UNSERVED[match[1]]}. See {_PAGE}."

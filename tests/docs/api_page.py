"""Descriptions of the routes in ``docs/api.md``, generated from the OpenAPI description of the server.

``python -m tests.docs.api_page`` rewrites the rows of the page; a row for a new route is added to its section by hand
(method and path suffice), and a test compares the page with the server.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr
from sqlalchemy import Engine
from tests.serving import KEY

from tocsin.server.app import build_app
from tocsin.server.http.paths import API
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault

PAGE = Path(__file__).resolve().parents[2] / "docs/api.md"
ROW = re.compile(r"^\| ([A-Z]+) \| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def described_routes(engine: Engine) -> dict[tuple[str, str], str]:
    """Return the first line of the description of every route, by method and path."""
    return {
        (method.upper(), path.removeprefix(API)): operation["description"].splitlines()[0].replace("``", "`")
        for path, operations in build_app(Settings(), engine).openapi()["paths"].items()
        for method, operation in operations.items()
    }


def refresh(page: str, routes: dict[tuple[str, str], str]) -> str:
    """Return the page with the current description in each row; rows of routes that are gone stay as they are."""

    def row(match: re.Match[str]) -> str:
        method, path, old = match.groups()
        return f"| {method} | `{path}` | {routes.get((method, path), old)} |"

    return ROW.sub(row, page)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{folder}/tocsin.db", synchronous="NORMAL")
        migrate(engine)
        use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
        PAGE.write_text(refresh(PAGE.read_text(), described_routes(engine)))
        engine.dispose()

"""Tests that the API page lists exactly the existing routes."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import Engine

from tocsin.model.entity_types import BY_COLLECTION
from tocsin.server.app import build_app
from tocsin.server.paths import API
from tocsin.settings import Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text()
ROW = re.compile(r"^\| ([A-Z]+) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def test_the_page_and_the_server_have_the_same_routes(sqlite_engine: Engine) -> None:
    described = build_app(Settings(), sqlite_engine).openapi()["paths"]
    routes = {
        (method.upper(), path.removeprefix(API), operation["description"].splitlines()[0].replace("``", "`"))
        for path, operations in described.items()
        for method, operation in operations.items()
    }
    assert set(ROW.findall(PAGE)) == routes


def test_the_page_names_every_collection() -> None:
    assert [collection for collection in BY_COLLECTION if f"`{collection}`" not in PAGE] == []

"""The page of the API has every route with its description, and no other."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.docs.api_page import PAGE, ROW, described_routes, refresh

from tocsin.model.entity_types import BY_COLLECTION


def test_the_page_and_the_server_have_the_same_routes(sqlite_engine: Engine) -> None:
    routes = described_routes(sqlite_engine)
    page = PAGE.read_text()
    listed_routes = [(method, path) for method, path, _ in ROW.findall(page)]
    assert sorted(listed_routes) == sorted(routes)
    assert page == refresh(page, routes), "run: python -m tests.docs.api_page"


def test_the_page_names_every_collection() -> None:
    page = PAGE.read_text()
    assert [collection for collection in BY_COLLECTION if f"`{collection}`" not in page] == []

"""Tests of the routes of the web application, with the files that are built into the package."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.app import page_of_error
from tocsin.server.http.errors import install_errors
from tocsin.server.http.routing import IndexedRouter, lay_out
from tocsin.server.routes.system import page

ROOT = Path(__file__).resolve().parents[4]
WEB = ROOT / "web/src"
STATIC = ROOT / "src/tocsin/ui/static"


@pytest.fixture
def client() -> httpx.AsyncClient:
    app = FastAPI(openapi_url=None)
    app.router = IndexedRouter(app.router, lay_out(page.router, ""))
    install_errors(app, lambda _request, _said, _path: "", page_of_error)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.mark.parametrize(
    "address", ["/", "/inbox", "/inbox/7", "/alerts/new", "/table/shop.%22a%2Fb%22/versions/1.0..1.1", "/user/dana"]
)
async def test_the_page_is_at_each_of_its_addresses_and_read_anew(client: httpx.AsyncClient, address: str) -> None:
    answer = await client.get(address)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.text == (STATIC / "index.html").read_text()
    assert "script-src" not in answer.headers["content-security-policy"], "default-src 'self' holds for scripts, too"
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("address", ["/api", "/api/v1/nothing", "/healthcheck/x", "/tables", "/static", "/inboxes"])
async def test_other_addresses_are_not_the_page(client: httpx.AsyncClient, address: str) -> None:
    assert (await client.get(address)).status_code == 404
    assert (await client.post(address)).status_code == 404


async def test_a_browser_is_told_of_an_unknown_address_by_the_page_and_a_program_by_json(
    client: httpx.AsyncClient,
) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = await client.get("/change-requests", headers=browser)
    assert (answer.status_code, answer.text) == (404, (STATIC / "index.html").read_text())
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    for path in ("/change-requests", "/api/v1/nothing", "/v1/nothing"):
        headers = browser if path.startswith(("/api", "/v1")) else {"Accept": "*/*"}
        assert (await client.get(path, headers=headers)).json()["code"] == 404
    assert (await client.post("/change-requests", headers=browser)).json()["code"] == 404


@pytest.mark.parametrize(("accepted", "encoding"), [("gzip, br", "br"), ("gzip;q=1.0", "gzip"), ("identity", None)])
async def test_a_built_file_is_kept_for_good_and_sent_as_it_was_compressed(
    client: httpx.AsyncClient, accepted: str, encoding: str | None
) -> None:
    (script,) = re.findall(r'src="(/static/index-[^"]+\.js)"', (STATIC / "index.html").read_text())
    answer = await client.get(script, headers={"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["vary"] == "Accept-Encoding"
    sent = script.removeprefix("/") + (".br" if encoding == "br" else "")  # gzip is read by the client
    assert answer.content == (STATIC / sent).read_bytes()


@pytest.mark.parametrize("name", ["..%2Findex.html", "nothing.js", "%2e%2e%2f%2e%2e%2fapp.py"])
async def test_no_other_file_is_sent(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.get(f"/static/{name}")).status_code == 404


def test_each_page_of_the_application_has_an_address_that_the_server_knows() -> None:
    first_words = set(re.findall(r"path: '/([a-z]+)", (WEB / "app/routes.ts").read_text()))
    assert first_words - set(page.PLACES) == set()


def test_the_application_knows_every_type_and_its_collection() -> None:
    text = (WEB / "words/types.ts").read_text()
    collections = dict(re.findall(r"^  (\w+): \{ collection: '([^']+)'", text, re.MULTILINE))
    assert collections == {name: row.collection for name, row in ENTITY_TYPES.items()}


def test_the_first_load_is_small() -> None:
    index = (STATIC / "index.html").read_text()
    names = re.findall(r'(?:src|href)="/static/([^"]+\.(?:js|css))"', index)
    assert names
    compressed = sum((STATIC / "static" / f"{name}.br").stat().st_size for name in names)
    font = max(path.stat().st_size for path in (STATIC / "static").glob("inter-latin-wght*.woff2"))
    assert compressed + font <= 120 * 1024

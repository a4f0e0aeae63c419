"""The tutorial followed in a browser, click by click, until the alert has told the owner."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page
from sqlalchemy import Engine
from tests.browser.logged_in import log_in
from tests.docs.web_tutorial import ALERT, PAGE, PRINTED, steps_of_tutorial
from tests.entries import entry_of
from tests.notifying import notify_all
from tests.serving import Served

from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.catalogue.search.writes import SearchWrites

pytestmark = pytest.mark.browser


def test_the_tutorial_prints_what_is_pressed_and_typed_in_it() -> None:
    text = " ".join(PAGE.read_text().split())
    assert [words for words in PRINTED if words not in text] == []


def test_the_tutorial_leads_to_an_alert_that_has_told_the_owner(
    served: Served, sqlite_engine: Engine, page: Page
) -> None:
    owner_id, client = served.person("alice")
    client.close()
    with served.administrator() as client:
        for path, request in (
            ("/services/databaseServices", {"name": "postgres_prod", "serviceType": "Postgres"}),
            ("/databases", {"name": "ecommerce", "service": "postgres_prod"}),
            ("/databaseSchemas", {"name": "public", "database": "postgres_prod.ecommerce"}),
        ):
            assert client.post(path, json=request).status_code == 201
        columns = [{"name": "email", "dataType": "TEXT"}]
        owners = [{"id": owner_id, "type": "user"}]
        request = {"name": "customers", "databaseSchema": "postgres_prod.ecommerce.public"}
        customers = client.post("/tables", json={**request, "columns": columns, "owners": owners}).json()
        SearchWrites(sqlite_engine).put([entry_of("table", customers)])
        log_in(page, ADMINISTRATOR["email"], served.password)
        pictures = list(steps_of_tutorial(page, tell=lambda: notify_all(sqlite_engine)))
        assert [name for name in pictures if f"images/web/{name}.png" not in PAGE.read_text()] == []
        alert = client.get(f"/events/subscriptions/name/{ALERT}").json()
    (rule,) = alert["filteringRules"]["rules"]
    assert rule["condition"].replace('"', "'") in PAGE.read_text()
    assert [(one["category"], one["type"]) for one in alert["destinations"]] == [("Owners", "Email")]

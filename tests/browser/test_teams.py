"""The tree of teams in a browser: a level is read when it opens, page by page; a chosen team is shown in its place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.logged_in import log_in
from tests.serving import Json, Served

from tocsin.server.bootstrap import ADMINISTRATOR

pytestmark = pytest.mark.browser

_COUNT = 130
"""More teams than a page of a level has."""


def test_a_level_of_teams_is_read_page_by_page_and_a_chosen_team_opens_those_above(served: Served, page: Page) -> None:
    with served.administrator() as client:

        def create(name: str, team_type: str, *parents: Json) -> Json:
            answer = client.post("/teams", json={"name": name, "teamType": team_type, "parents": list(parents)})
            assert answer.status_code == 201, answer.text
            return answer.json()["id"]

        north = create("north", "Division")
        shop = create("shop", "Department", north)
        for number in range(_COUNT):
            create(f"crew{number:03}", "Group", shop)
    log_in(page, ADMINISTRATOR["email"], served.password)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto("/governance/teams")
    tree = page.get_by_role("region", name="Teams")
    expect(tree).to_contain_text("1 team at the top")
    tree.get_by_role("button", name="Open shop").click()
    expect(tree.get_by_role("link", name="crew099")).to_be_visible()
    expect(tree.get_by_role("link", name="crew100")).to_have_count(0)
    assert not any("hierarchy" in url for url in addresses), "the whole tree is never read"
    tree.get_by_role("button", name="Show more of shop").click()
    expect(tree.get_by_role("link", name="crew129")).to_be_visible()
    expect(tree.get_by_role("button", name="Show more of shop")).to_have_count(0)

    page.goto("/governance/teams/crew007")
    expect(tree.get_by_role("link", name="crew007")).to_have_attribute("aria-current", "true")

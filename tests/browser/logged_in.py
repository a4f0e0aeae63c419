"""People who are logged in to the web application, as its tests need them. Next: the tests beside it."""

from __future__ import annotations

from playwright.sync_api import Page
from tests.serving import Served


def log_in(page: Page, name: str, password: str) -> None:
    """Log in by the form, and wait until the application is there."""
    page.get_by_label("E-mail or name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("navigation").first.wait_for()


def alice_at(served: Served, page: Page, address: str) -> str:
    """Create alice, log her in and open an address; return her id."""
    user_id, client = served.person("alice", displayName="Alice Smith")
    client.close()
    log_in(page, "alice", "alice-password")
    page.goto(address)
    return user_id

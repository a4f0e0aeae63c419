"""The clicks of the tutorial, as ``docs/first-alert.md`` prints them: for its pictures, and for a test that follows it.

Next: ``web_pictures.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Page, expect

PAGE = Path(__file__).resolve().parents[2] / "docs/first-alert.md"
ALERT = "CustomerColumns"
CUSTOMERS = "postgres_prod.ecommerce.public.customers"
_CONDITIONS = (("Changed field", "columns"), ("Asset", CUSTOMERS))
PRINTED = (
    *("*Alerts*", "*New alert*", "*Name of the alert*", f"`{ALERT}`", "*Add a condition*"),
    *(f"*{question}*, type `{value}`" for question, value in _CONDITIONS),
    *("*owners* by *e-mail*", "*Create alert*", "Ctrl+K", "*Edit email*", "*Save*", "*Deliveries*"),
)
"""What the page prints of all that is pressed and typed here."""
NEW_TEXT = "Where the receipt is sent."


def steps_of_tutorial(tab: Page, tell: Callable[[], object] = lambda: None) -> Iterator[str]:
    """Do what the tutorial says as an administrator who has logged in; yield the name of each picture when it is due.

    ``tell`` has those told whom the change concerns, where no pipeline does.
    """
    write_alert(tab)
    yield "first-alert-builder"
    tab.get_by_role("button", name="Create alert").click()
    expect(tab.get_by_role("heading", name=ALERT)).to_be_visible()
    change_column(tab)
    yield "first-alert-column"
    tab.get_by_role("button", name="Save").click()
    expect(tab.get_by_text("email is saved.")).to_be_visible()
    tell()
    see_who_was_told(tab)
    yield "first-alert-told"


def write_alert(tab: Page) -> None:
    """Open a new alert and fill its form in."""
    tab.get_by_role("navigation").get_by_role("link", name="Alerts").first.click()
    tab.get_by_role("button", name="New alert").click()
    tab.get_by_label("Name of the alert").fill(ALERT)
    for number, (question, value) in enumerate(_CONDITIONS):
        tab.get_by_role("button", name="Add a condition").click()
        tab.get_by_label("What is asked").nth(number).select_option(label=question)
        values = tab.get_by_role("combobox", name=question, exact=True)
        values.fill(value)
        values.press("Enter")
    tab.get_by_label("By which channel").select_option(label="e-mail")
    expect(tab.get_by_text("tell owners by e-mail")).to_be_visible()


def change_column(tab: Page) -> None:
    """Find the table by the keys of search, and write the description of a column."""
    tab.keyboard.press("Control+k")
    tab.get_by_role("combobox", name="Search").fill(CUSTOMERS)
    tab.get_by_role("option").filter(has_text="postgres_prod / ecommerce / public").first.click()
    tab.get_by_role("button", name="Edit email", exact=True).click()
    tab.get_by_label("Description of email").fill(NEW_TEXT)


def see_who_was_told(tab: Page) -> None:
    """Open the deliveries of the alert, and wait for the first message."""
    tab.get_by_role("navigation").get_by_role("link", name="Alerts").first.click()
    tab.get_by_role("link", name=ALERT).click()
    tab.get_by_role("link", name="Deliveries").click()
    message = tab.get_by_role("listitem").filter(has_text="customers").first
    for _ in range(60):
        if message.is_visible():
            return
        tab.wait_for_timeout(2_000)
        tab.reload()
        tab.locator("main h1").first.wait_for()
        tab.wait_for_timeout(500)
    expect(message).to_be_visible()

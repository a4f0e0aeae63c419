"""Settings of a person in a real browser: what reaches them and when, mutes, tokens and sessions."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.browser.logged_in import alice_at, log_in
from tests.serving import Served, warehouse

pytestmark = pytest.mark.browser


def test_preferences_are_set_by_kind_and_channel_with_quiet_hours(served: Served, page: Page) -> None:
    user_id = alice_at(served, page, "/settings/notifications")
    descriptions = page.get_by_label("Descriptions: E-mail")
    descriptions.select_option("weekly")
    expect(page.get_by_text("saved ")).to_be_visible()
    page.get_by_label("Failures of what I own: Bell").select_option("hourly")
    expect(page.get_by_label("Failures of what I own: Bell")).to_have_value("hourly")
    expect(page.get_by_label("Failures of what I follow: Bell")).to_have_value("immediate")
    quiet = page.get_by_role("region", name="Quiet hours")
    quiet.get_by_role("button", name="Change").click()
    quiet.get_by_role("checkbox", name="Quiet hours").check()
    quiet.get_by_label("Quiet from").fill("20:00")
    quiet.get_by_label("Quiet until").fill("07:30")
    quiet.get_by_label("Time zone").fill("Europe/Berln")
    quiet.get_by_role("button", name="Save quiet hours").click()
    expect(quiet.get_by_role("alert")).to_contain_text("unknown time zone 'Europe/Berln'")
    quiet.get_by_label("Time zone").fill("Europe/Berlin")
    quiet.get_by_role("button", name="Save quiet hours").click()
    expect(quiet.get_by_role("img")).to_have_attribute("aria-label", "quiet from 20:00 to 07:30")
    with served.administrator() as client:
        preferences = client.get(f"/users/{user_id}/preferences").json()
    assert (preferences["timezone"], preferences["quietHours"]) == (
        "Europe/Berlin",
        {"start": "20:00", "end": "07:30"},
    )
    assert preferences["kinds"] == {"description": {"Email": "weekly"}}
    assert preferences["roles"]["owned"]["testFailure"] == {"ActivityFeed": "hourly"}
    page.reload()
    expect(descriptions).to_have_value("weekly")
    descriptions.select_option("default")
    expect(descriptions).not_to_have_value("weekly")
    page.get_by_role("button", name="Undo").first.click()
    expect(descriptions).to_have_value("weekly")
    month = page.get_by_role("region", name="With these settings, last 30 days")
    expect(month).to_contain_text("Nothing happened that concerns you")
    page.get_by_label("Most messages an hour").select_option("5")
    expect(page.get_by_text("At most 5 messages an hour and channel")).to_be_visible()
    page.get_by_label("once a week").check()
    expect(page.get_by_text("Your week comes each Friday at 16:00.")).to_be_visible()
    expect(page.get_by_text("Next on Friday")).to_be_visible()
    with served.administrator() as client:
        preferences = client.get(f"/users/{user_id}/preferences").json()
    assert (preferences["mostPerHour"], preferences["healthSummary"]) == (5, {"day": "friday", "at": "16:00"})
    page.set_viewport_size({"width": 320, "height": 750})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_what_is_muted_is_listed_and_heard_again(served: Served, page: Page) -> None:
    with served.administrator() as client:
        orders = warehouse(client)
    user_id = alice_at(served, page, "/settings/mutes")
    expect(page.get_by_text("Nothing is muted.")).to_be_visible()
    page.get_by_label("Duration").select_option("for a week")
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="Everything")).to_contain_text("until")
    with served.administrator() as client:
        mute = {"kind": "asset", "id": orders["id"], "type": "table"}
        assert client.put(f"/users/{user_id}/mutes", json=mute).status_code == 200
    page.reload()
    row = page.get_by_role("row").filter(has_text="warehouse / shop / public")
    expect(row).to_contain_text("until you end it")
    row.get_by_role("button", name="Unmute").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    with served.administrator() as client:
        kinds = {mute["kind"] for mute in client.get(f"/users/{user_id}/mutes").json()["data"]}
    assert kinds == {"asset", "everything"}


def test_a_token_and_a_feed_are_shown_once_and_a_session_elsewhere_is_ended(served: Served, page: Page) -> None:
    alice_at(served, page, "/settings/tokens")
    page.get_by_label("Name").fill("nightly job")
    page.get_by_role("button", name="Create a token").click()
    expect(page.get_by_text("Copy nightly job now.")).to_be_visible()
    page.reload()
    row = page.get_by_role("row").filter(has_text="nightly job")
    expect(row).to_be_visible()
    expect(page.get_by_text("Copy nightly job now.")).to_have_count(0)
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("You have no tokens.")).to_be_visible()

    page.goto("/settings/feeds")
    page.get_by_label("A feed of").select_option("owned")
    page.get_by_role("button", name="Create the feed").click()
    address = page.get_by_role("status").locator("code").text_content()
    assert address is not None
    assert "<feed" in page.request.get(address).text()
    page.get_by_role("button", name="Revoke the feed of what I own").click()
    expect(page.get_by_text("You have no feeds.")).to_be_visible()
    assert page.request.get(address).status == 404

    assert page.context.browser is not None
    elsewhere = page.context.browser.new_context(base_url=served.url)
    other_session = elsewhere.new_page()
    other_session.goto("/")
    log_in(other_session, "alice", "alice-password")
    page.goto("/settings/sessions")
    page.get_by_role("button", name="End the 1 other").click()
    expect(page.get_by_role("button", name="End it")).to_have_count(0)
    other_session.goto("/inbox")
    expect(other_session.get_by_label("Password")).to_be_visible()
    elsewhere.close()

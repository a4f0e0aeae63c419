"""``tocsin preferences``: quiet hours, and how often mails and direct messages come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, show_facts
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_EVERYTHING = "all"

Quiet = Annotated[str | None, typer.Option("--quiet", help="Quiet hours, such as 20:00-08:00; none ends them.")]
Zone = Annotated[str | None, typer.Option("--timezone", help="Time zone, such as Europe/Berlin.")]
DigestAt = Annotated[str | None, typer.Option("--digest-at", help="When digests come, such as 09:00.")]
Often = Annotated[
    list[str] | None,
    typer.Option(
        "--notify",
        metavar="CATEGORY=FREQUENCY",
        help="How often changes of a category, or all, are notified: immediate, daily, weekly, never. May be repeated.",
    ),
]
Reset = Annotated[bool, typer.Option("--reset", help="Back to the defaults: everything as it happens, at any time.")]


def preferences(
    *,
    quiet: Quiet = None,
    timezone: Zone = None,
    digest_at: DigestAt = None,
    notify: Often = None,
    reset: Reset = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Show or set when you are notified by mail and direct message.

    Without options it shows what is set; with some it changes these and keeps the others. Notifications in the
    app come at once, and so do alerts tagged Critical, even if you never want such changes; mute what you do not want.

    Examples: tocsin preferences --quiet 20:00-08:00 --timezone Europe/Berlin
    · tocsin preferences --notify all=daily --notify schema=immediate
    """
    changes: Document = {}
    changes |= {"timezone": timezone} if timezone else {}
    changes |= {"digestAt": digest_at} if digest_at else {}
    changes |= {"quietHours": _hours(quiet)} if quiet else {}
    with Client() as client:
        who = find_user(client, user)
        current = client.prefer(who.id, {}) if reset else client.preferences(who.id)
        if changes or notify:
            current = client.prefer(who.id, _with_frequencies(current | changes, notify or []))
    show_facts(current if as_json else dict(_facts(current)), as_json=as_json)


def _with_frequencies(preferences: Document, notify: list[str]) -> Document:
    """Return preferences with other frequencies; one for everything replaces those of categories before it."""
    for option in notify:
        category, equals, frequency = option.partition("=")
        if not equals:
            problem = f"--notify must be a category and how often, such as description=daily, not {option!r}."
            raise InvalidInput(problem, field="notify")
        if category == _EVERYTHING:
            preferences = preferences | {"frequency": frequency, "categories": {}}
        else:
            preferences = preferences | {"categories": preferences["categories"] | {category: frequency}}
    return {key: value for key, value in preferences.items() if value is not None}


def _hours(text: str) -> Document | None:
    if text == "none":
        return None
    start, dash, end = text.partition("-")
    if not dash:
        raise InvalidInput(f"--quiet must be two times such as 20:00-08:00, or none, not {text!r}.", field="quiet")
    return {"start": start.strip(), "end": end.strip()}


def _facts(preferences: Document) -> Iterator[tuple[str, str]]:
    quiet = preferences.get("quietHours")
    yield "time zone", preferences["timezone"]
    yield "quiet hours", f"{quiet['start']} to {quiet['end']}" if quiet else "none"
    yield "digests", f"at {preferences['digestAt']}; weekly ones on Mondays"
    yield "changes", preferences["frequency"]
    for name, frequency in sorted(preferences["categories"].items()):
        yield f"changes of {name}", frequency

"""Zone of the times that commands show people: that of their preferences, as in their mails and explanations."""

from __future__ import annotations

from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader
from tocsin.client import Client
from tocsin.delivery.lines import UTC
from tocsin.errors import Forbidden, NotFound


def own_zone(client: Client, *, is_shown: bool) -> str:
    """Return the IANA zone of who runs a command; UTC, without asking, where no time is shown (``--json``)."""
    return reader_of(client).zone if is_shown else UTC


def reader_of(client: Client) -> ExplanationReader:
    """Return who runs a command as a reader: nobody, in UTC, for a token that is of nobody."""
    try:
        user_id = client.logged_in_user().id
    except (Forbidden, NotFound):  # what was asked for is shown all the same
        return ANYBODY
    return ExplanationReader(user_id, zone_of(client, user_id))


def zone_of(client: Client, user_id: str, *, is_shown: bool = True) -> str:
    """Return the IANA zone that a user prefers; UTC if they prefer none or, without asking, no time is shown."""
    if not is_shown:
        return UTC
    try:
        return str(client.preferences(user_id)["timezone"])
    except (Forbidden, NotFound):
        return UTC

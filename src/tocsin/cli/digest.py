"""Commands ``digest`` and ``summary``: the next digest of a person, and their week, as they would be sent now."""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, moment_text, show_text
from tocsin.cli.own_zone import zone_of
from tocsin.client import Client
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text


def digest(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """Show your next digest by mail or chat, as it would be sent now; nothing is sent, and nothing changes."""
    with Client() as client:
        who = find_user(client, user)
        answer = client.next_digests(who.id)
        zone = zone_of(client, who.id, is_shown=bool(answer["data"]) and not as_json)
    parts = (f"{_title_of(one, zone)}\n\n{_text_of(one['message'])}" for one in answer["data"])
    text = "\n\n".join(parts) or "Nothing waits for a digest."
    show_text(text, answer=answer["data"], as_json=as_json)


def summary(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """Show your health summary of the last seven days: incidents, failing tests, what changed most.

    It is of what you own and follow. `tocsin preferences --health-summary "friday 16:00"` has it sent each week.
    """
    with Client() as client:
        who = find_user(client, user)
        answer = client.health_summary(who.id)
        zone = zone_of(client, who.id, is_shown="dueAt" in answer and not as_json)
    message = answer.get("message") or {"subject": "Nothing happened to what you own and follow.", "text": ""}
    sent = f"Sent next: {moment_text(answer['dueAt'], zone)}" if "dueAt" in answer else "It is not sent to you."
    text = "\n\n".join(part.strip() for part in (message["subject"], message["text"], sent) if part)
    show_text(text, answer=answer, as_json=as_json)


def _title_of(next_digest: Document, zone: str) -> str:
    count = count_text(next_digest["notificationCount"], "notification")
    return f"{next_digest['channel']}, {moment_text(next_digest['dueAt'], zone)}: {count}"


def _text_of(message: Document) -> str:
    """Return a message as people read it: the text of a mail, or all texts of a chat message."""
    if "html" in message:
        return str(message["text"]).rstrip()
    return "\n".join(dict.fromkeys(_texts_in(message)))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "text" and isinstance(inner, str):
                yield inner.strip()
            else:
                yield from _texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner)

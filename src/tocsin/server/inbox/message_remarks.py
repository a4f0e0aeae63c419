"""Remarks on what keeps messages from people whatever they prefer: no mail server, and default alerts that are off.

Next: ``server/bootstrap.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.alerts.events import MESSAGES_OF_ASSETS, MESSAGES_OF_CONVERSATIONS
from tocsin.errors import NotFound
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

_ABOUT = {
    MESSAGES_OF_ASSETS: "what you own and follow",
    MESSAGES_OF_CONVERSATIONS: "conversations and tasks",
}


def message_remarks(catalogue: SqlCatalogue, *, has_mail_server: bool) -> Iterator[str]:
    """Yield a sentence for each reason why messages do not come as a person prefers."""
    if not has_mail_server:
        yield "No mail server is set up, so no mails come."
    for name, about in _ABOUT.items():
        if not _is_enabled(name, catalogue):
            yield (
                f"Of {about} you hear in the app; mails, chats and your webhook come only where another alert sends "
                f"them, for the alert {name} is disabled. An administrator enables it: tocsin alerts enable {name}"
            )


def _is_enabled(name: str, catalogue: SqlCatalogue) -> bool:
    try:
        alert = catalogue.get("eventsubscription", Key.by_name(name))
    except NotFound:
        return False
    return bool(alert.get("enabled", True))

"""What a push message says: which asset has how many changes, and where to read them; never a value of a field.

The message passes through the push service of the browser's vendor; it is encrypted, but its screen is not: a phone
shows it while it is locked. Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import clean_line
from tocsin.model import fqn
from tocsin.model.change import ChangeEvent


def render_push(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON that the service worker shows: ``title``, ``url``, and the ``tag`` of a repeated message."""
    entries = dispatch.entries
    names = {entry.event.entity_id: name_of(entry.event) for entry in entries}
    count = f"{len(entries):,} {'change' if len(entries) == 1 else 'changes'}"
    title = f"{next(iter(names.values()))}: {count}" if len(names) == 1 else f"{count} of {len(names):,} assets"
    url = f"{base_url}/inbox/{entries[0].notification_id}" if len(entries) == 1 else f"{base_url}/inbox"
    return orjson.dumps({"title": title, "url": url, "tag": dispatch.message.id})


def name_of(event: ChangeEvent) -> str:
    """Return what the asset of an event is called where it lies."""
    return clean_line(fqn.split(event.entity_fully_qualified_name)[-1] if event.entity_fully_qualified_name else "")

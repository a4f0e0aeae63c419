"""What a push message says: which asset has how many changes, and where to read them; never a value of a field.

The message passes through the push service of the browser's vendor; it is encrypted, but its screen is not: a phone
shows it while it is locked. Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import HEADLINE_LIMIT
from tocsin.delivery.wording.assets import asset_of


def render_push(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON that the service worker shows: ``title``, ``url``, and the ``tag`` of a repeated message."""
    entries = dispatch.entries
    assets = (asset_of(entry.event) for entry in entries)
    names = {asset.entity_id: asset.name[:HEADLINE_LIMIT] for asset in assets}
    count = f"{len(entries):,} {'change' if len(entries) == 1 else 'changes'}"
    title = f"{next(iter(names.values()))}: {count}" if len(names) == 1 else f"{count} of {len(names):,} assets"
    return orjson.dumps({"title": title, "url": f"{base_url}/inbox", "tag": dispatch.message.id})

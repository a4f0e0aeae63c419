"""What a push message says: which asset has how many changes, and where to read them; never a value of a field.

The message passes through the push service of the browser's vendor; it is encrypted, but its screen is not: a phone
shows it while it is locked. Next: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import HEADLINE_LIMIT
from tocsin.delivery.wording.assets import asset_of
from tocsin.model.notification import ORDERED_IDS
from tocsin.model.subscription import Channel

MADE_UP = 0
"""Place in the log of an event that is none: a test's."""

_TEST = "A test of Tocsin: this browser takes messages."


def render_push(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON that the service worker shows: ``title``, ``url``, and the ``tag`` of a repeated message.

    Its address is that of the newest change in the inbox of its person, or the inbox if it is about several assets. It
    names the event, too, which is shown where the inbox has nothing: the person may want these over no bell. A message
    about made-up events says that it is a test.
    """
    entries = dispatch.entries
    if all(entry.log_offset == MADE_UP for entry in entries):
        return orjson.dumps({"title": _TEST, "url": f"{base_url}/settings/notifications", "tag": dispatch.message.id})
    assets = (asset_of(entry.event) for entry in entries)
    names = {asset.entity_id: asset.name[:HEADLINE_LIMIT] for asset in assets}
    count = f"{len(entries):,} {'change' if len(entries) == 1 else 'changes'}"
    title = f"{next(iter(names.values()))}: {count}" if len(names) == 1 else f"{count} of {len(names):,} assets"
    place = _place_of_newest(dispatch) if len(names) == 1 else "/inbox"
    return orjson.dumps({"title": title, "url": f"{base_url}{place}", "tag": dispatch.message.id})


def _place_of_newest(dispatch: Dispatch) -> str:
    """Return the place of the newest of these changes in the inbox of the person."""
    newest = max(dispatch.entries, key=lambda entry: entry.log_offset)
    bell = Channel.ACTIVITY_FEED.value
    in_inbox = ORDERED_IDS.of(newest.log_offset, newest.carried.id, bell, dispatch.message.target)
    return f"/inbox/{in_inbox}?event={newest.carried.id}"

"""The next digest of a person over one channel, as it would be sent now.

Next: ``server/alerts/next_digest.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocsin.model.entity import WireModel
from tocsin.model.subscription import Channel


class NextDigest(WireModel):
    """A message that waits for its time.

    Attributes
    ----------
    due_at : when it is sent, epoch milliseconds
    notification_count : how many notifications are in it so far, as far as they would be sent now
    message : as its channel shows it: of a mail ``subject``, ``text`` and ``html``, else what the chat would get
    """

    channel: Channel
    due_at: int
    notification_count: int
    message: Mapping[str, Any]  # Any: a JSON value of the channel

"""GovernanceWorkflowChangeEvent: a queue of messages in the store, from which consumers claim. No worker sends them.

Next: ``store/outbox/queue.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.wording.event_formats import check_format
from tocsin.model.subscription import Category, Channel

GOVERNANCE_WORKFLOW = ChannelType(
    channel=Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT,
    phrase="in a queue",
    categories=frozenset({Category.EXTERNAL}),
    check=lambda destination, place: check_format(destination.config, place),
    config_keys=frozenset({"payload_format"}),
)

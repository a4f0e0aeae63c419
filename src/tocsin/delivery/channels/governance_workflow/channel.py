"""GovernanceWorkflowChangeEvent: a queue of messages in the store, from which consumers claim. No worker sends them.

Next: ``store/outbox/queue.py``.
"""

from __future__ import annotations

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import InvalidInput
from tocsin.model.subscription import Category, Channel, Destination


def _check(destination: Destination, place: str) -> None:
    if destination.config.payload_format is not None and destination.config.payload_format not in EVENT_FORMATS:
        raise InvalidInput(
            f"must be one of {', '.join(sorted(EVENT_FORMATS))}, or omitted", field=f"{place}.payloadFormat"
        )


GOVERNANCE_WORKFLOW = ChannelType(
    channel=Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT,
    phrase="in a queue",
    categories=frozenset({Category.EXTERNAL}),
    check=_check,
    targets=lambda _destination: (),
    config_keys=frozenset({"payload_format"}),
)

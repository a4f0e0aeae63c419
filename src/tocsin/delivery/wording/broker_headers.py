"""Names of the headers that events have at a broker, beside the attributes of CloudEvents.

Next: ``relay/records.py``, which writes them.
"""

from __future__ import annotations

CLOUD_PREFIX = "ce_"
"""What the names of CloudEvents' attributes begin with. Source: CloudEvents 1.0.2, Kafka protocol binding 3.2.3."""

OFFSET_HEADER = "tocsin-offset"
"""The event's offset in the log."""

IDEMPOTENCY_HEADER = "idempotencyKey"
"""The event's id, by which consumers drop repetitions."""

RELAY_HEADER = "tocsin-relay"
"""The name of the relay that wrote the event."""

"""Names of the streaming queries that read the log; data they share is kept until the slowest has read it.

A query whose state changes gets a new name here; the old query's progress then no longer counts.
"""

from __future__ import annotations

MATCH_STREAM = "match_stream"
"""Notifies of every event (``jobs/match_stream.py``)."""

STREAK_STREAM = "streak_stream"
"""Notifies of reports by conditions on earlier ones (``jobs/streak_stream.py``); skips all other events."""

SEARCH_STREAM = "search_stream"
"""Updates the search index (``jobs/search_stream.py``)."""

STREAMS = (MATCH_STREAM, SEARCH_STREAM, STREAK_STREAM)
"""All streaming queries."""

LAKE = "lake"
"""The lake, which reads the log at intervals (``jobs/lake.py``)."""

RELAY = "relay "
"""What the name of a relay follows (``relay/loop.py``)."""

CONSUMER = "consumer "
"""What the name of a registered consumer follows (``store/eventlog/consumers.py``)."""

QUEUE, GROUP = "queue ", "group "
"""What the id of an alert with a queue follows, and the name of a consumer group of a relay's topics."""

SUBSCRIPTION = "subscription "
"""What the name of a subscription of a relay's topics in Pulsar follows."""

INGEST = "ingest "
"""What the name of the consumer group that reads events of other systems follows, where it measures its own lag."""

READERS = (MATCH_STREAM, STREAK_STREAM)
"""Queries that look up relations of entities; one without a row of progress has read nothing yet."""

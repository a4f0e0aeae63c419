"""Names of the streaming queries that read the log; data they share is kept until the slowest has read it.

A query whose state changes gets a new name here; the old query's progress then no longer counts.
"""

from __future__ import annotations

MATCH_STREAM = "match_stream"
"""Tells of every event (``jobs/match_stream.py``)."""

STREAK_STREAM = "streak_stream"
"""Tells of reports what depends on those before them (``jobs/streak_stream.py``); passes over all other events."""

READERS = (MATCH_STREAM, STREAK_STREAM)
"""Queries that look up who stands in which relation to what; one without a row of progress has read nothing yet."""

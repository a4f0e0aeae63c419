"""Streaming queries that read the log to tell people: what they share waits for the slowest of them.

A query whose state changes gets a new name here; the row of progress of the old one then holds nothing back.
"""

from __future__ import annotations

MATCH_STREAM = "match_stream"
"""Tells of every event (``jobs/match_stream.py``)."""

STREAK_STREAM = "streak_stream"
"""Tells of reports what depends on those before them (``jobs/streak_stream.py``); passes over all other events."""

READERS = (MATCH_STREAM, STREAK_STREAM)
"""Queries that look up who stands in which relation to what; one without a row of progress has read nothing yet."""

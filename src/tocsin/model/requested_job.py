"""Jobs that people request through the API and the pipeline runs: their states.

Next: ``store/eventlog/requested_jobs.py``, ``jobs/requests.py``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class JobState(StrEnum):
    """State of a requested job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (JobState.WAITING, JobState.RUNNING)
"""The states of what is not over yet."""


class RequestedJob(Protocol):
    """What all requests have; ``tries`` is how often a pipeline has started it."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def tries(self) -> int:
        """Return how often a pipeline has started it."""

"""SQL queries on the lake that people ask by the API: the server takes them, the pipeline answers them.

Next: ``store/eventlog/lake_queries.py``, ``jobs/query_runner.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.flow.eventlog.lake import UNCUT, Cut
from tocsin.model.entity import Document
from tocsin.model.requested_job import OPEN, JobState

QUERY_JOB = "lake queries"
"""What the pipeline's being there for queries is called in the store."""


@dataclass(frozen=True)
class LakeQuery:
    """A query with its state and answer; what was asked is kept when the answer is gone.

    Attributes
    ----------
    requested_by : id of the asker; the answer has what they may view
    cut : the earlier state of the history that was asked, if any
    asked_at_ms : when they last asked for the answer; a query that nobody asks for any more is cancelled
    row_count : number of rows of the answer
    answer : ``columns`` and ``rows``; None if there is none, or not any more
    reason, code : why it failed, for people and for programs
    """

    id: str
    requested_by: str
    requested_at_ms: int
    statement: str
    cut: Cut = UNCUT
    state: JobState = JobState.WAITING
    asked_at_ms: int = 0
    row_count: int | None = None
    answer: Document | None = None
    reason: str | None = None
    code: str | None = None
    ended_at_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Return whether it is neither answered nor failed."""
        return self.state in OPEN

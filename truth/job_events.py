"""Events that jobs of the pipeline make as time passes, as they must be.

Next: ``truth/passing_time.py``, which says when they must be.
"""

from __future__ import annotations

from dataclasses import dataclass

from truth.history import Key
from truth.steps import Principal

REMINDER, CHECK, HANDLED = "incidentReminder", "scheduledCheck", "alertIncidentUpdated"
"""Types of events about incidents and schedules: alerts match the first two by what they ask of time, and no alert of a
replay names the third."""


@dataclass(frozen=True)
class JobEvent:
    """An event that a job must make.

    Attributes
    ----------
    reminding : alerts that remind of an incident
    number : how many reminders of the incident there are then
    asked_principals : whom an event of a change request asks
    request : name, status and number of open answers of that request
    states : what a check finds of the asset
    """

    event_type: str
    key: Key
    reminding: frozenset[str] = frozenset()
    number: int = 0
    asked_principals: tuple[Principal, ...] = ()
    request: tuple[str, str, int] | None = None
    states: frozenset[str] = frozenset()

"""Settings of the pipeline's scheduled jobs, a group of those in ``settings.py``: how often they run."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class JobSettings(BaseModel):
    """Intervals of checks, retention, self-audit and recommendations."""

    model_config = ConfigDict(frozen=True)

    silence_every_s: float = Field(
        60.0, ge=0, description="Seconds between two checks for entities without success; 0: never."
    )
    retention_every_s: float = Field(
        21_600.0,
        ge=0,
        description="Seconds between two runs of retention, which removes nothing until it is set; 0: never.",
    )
    audit_every_s: float = Field(900.0, ge=0, description="Seconds between two self-audits; 0: never.")
    audit_window_hours: float = Field(24.0, gt=0, description="Hours of events that a self-audit checks.")
    audit_allowance_s: float = Field(
        900.0, gt=0, description="Seconds a message, reminder or check may be overdue before the self-audit reports it."
    )
    recommendations_every_s: float = Field(
        3_600.0,
        ge=0,
        description="Seconds between two runs that recommend assets; nothing is done while nothing happens; 0: never.",
    )
    follow_idle_days: int = Field(
        0,
        ge=0,
        le=36_500,
        description="Days without use after which a follow ends, with a warning a week before; 0: follows never end.",
    )

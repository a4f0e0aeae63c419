"""Setting of web push, a group of those in ``settings.py``: whether browsers may take messages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class PushSettings(BaseModel):
    """Web push: messages in browsers while no tab of Tocsin is open."""

    model_config = ConfigDict(frozen=True)

    web_push: bool = Field(
        default=False,
        description="Whether people may get messages in their browsers. They go through the push services of the"
        " browsers' vendors, encrypted, and need a `public_url` with `https`. Off: all browsers are forgotten at the"
        " next start.",
    )

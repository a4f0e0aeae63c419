"""Settings of embeds, a group of those in ``settings.py``: which pages of others may show a person's bell."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?")


def _checked_origin(text: str) -> str:
    """Return an origin as browsers write it (RFC 6454, section 6.1); no path, no wildcard, no default port."""
    default_port = ":80" if text.startswith("http:") else ":443"
    if not _ORIGIN.fullmatch(text) or text.endswith(default_port):
        raise ValueError(f"{text!r} is not an origin as browsers send it, such as https://portal.example.com")
    return text


class EmbedSettings(BaseModel):
    """Embeds: the bell and the follow button in pages of other sites."""

    model_config = ConfigDict(frozen=True)

    embed_origins: tuple[Annotated[str, AfterValidator(_checked_origin)], ...] = Field(
        default=(),
        description="Origins of the pages that may show `<tocsin-bell>` and `<tocsin-follow>`, as JSON:"
        ' `["https://portal.example.com"]`. Empty: none may.',
    )

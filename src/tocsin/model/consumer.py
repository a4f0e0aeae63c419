"""Consumer of the log whose position the server keeps, and requests about one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tocsin.model.entity import WireModel

Offset = Annotated[int, Field(ge=0, le=2**62, strict=True)]


@dataclass(frozen=True)
class Consumer:
    """A consumer of the log: who commits its position, and the offset behind the last event that it has handled.

    Times are epoch milliseconds; ``committed_at_ms`` is None until the first commit.
    """

    name: str
    user_id: str
    log_offset: int
    registered_at_ms: int
    committed_at_ms: int | None = None


class ConsumerRequest(WireModel):
    """Who commits the position, by default who asks; and where to begin, by default behind the newest event.

    Of a consumer that is registered, what is left out stays as it is.
    """

    user: str | None = Field(default=None, min_length=1, max_length=300)
    start: Offset | Literal["now", "start"] | None = None


class PositionRequest(WireModel):
    """The offset behind the last event that was handled, and the one that was committed before."""

    offset: Offset
    previous_offset: Offset

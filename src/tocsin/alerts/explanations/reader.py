"""Reader of an explanation: sentences address them, and times are in their zone."""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.delivery.lines import UTC, exact_moment_text, moment_text
from tocsin.model.change_request import NOT_ASKED, AskedFor

_STORED = (
    ("the recipient never wants", "you never want"),
    ("the recipient's", "your"),
    ("the recipient", "you"),
)
"""How stored sentences name a recipient, and how they address them."""


@dataclass(frozen=True)
class ExplanationReader:
    """Who reads an explanation: the id of a user, the IANA zone of times in sentences, and what the event asks them."""

    user_id: str = ""
    zone: str = UTC
    answerable: AskedFor = NOT_ASKED

    def is_of(self, user_id: str | None) -> bool:
        """Return whether the user of that id is the reader."""
        return bool(user_id) and user_id == self.user_id

    def name_of(self, user_id: str | None, name: str) -> str:
        """Return what a user is called as an object, or before a verb that has one form: ``you``, or their name."""
        return "you" if self.is_of(user_id) else name

    def moment(self, at_ms: int) -> str:
        """Return a time, epoch milliseconds, in the reader's zone, to the second."""
        return exact_moment_text(at_ms, self.zone)

    def minute(self, at_ms: int) -> str:
        """Return a time as ``moment`` does, to the minute, such as the end of a mute."""
        return moment_text(at_ms, self.zone)


ANYBODY = ExplanationReader()


def to_recipient(says: str) -> str:
    """Return what is stored about "the recipient" as they are told it: ``you muted this alert``."""
    for about, to_reader in _STORED:
        says = says.replace(about, to_reader)
    return says

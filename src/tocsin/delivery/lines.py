"""Building blocks of messages: single lines and short texts, free of control characters.

Next: ``delivery/wording/changes.py`` for changes, ``delivery/wording/threads.py`` for threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from enum import IntEnum, auto
from time import gmtime, strftime
from typing import NamedTuple
from zoneinfo import ZoneInfo

SHOWN_LIMIT = 500
"""Most characters of an old or new value that are shown."""

HEADLINE_LIMIT = 120

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
"""Control and direction characters."""

UTC = "UTC"

_MINUTE = "%Y-%m-%d %H:%M"
_SECOND = f"{_MINUTE}:%S"
_BRIEF_LIMIT = 80
_NAME_LIMIT = 24
"""To so many characters a name is cut before what is said of it is."""
_TITLE_LIMIT = 60
_BREAKING = "breaking"
_BRACKETS = str.maketrans("<>", "\u2039\u203a")


class Rank(IntEnum):
    """How much a change matters to its reader: the headline names the first of them."""

    REPORTED = auto()
    BREAKING = auto()
    DELETED = auto()
    REMOVED = auto()
    RETYPED = auto()
    ADDED = auto()
    RENAMED = auto()
    OWNER = auto()
    LABEL = auto()
    DESCRIPTION = auto()
    OTHER = auto()


class ChangeLine(NamedTuple):
    """One change, or one fact about a report, and the old and new value as text (None: there is none to show).

    ``text`` says what happened. Where the values are short, it holds them and ``lead`` is the part before them:
    ``column status VARCHAR → INT``. ``name`` is the name of a column in it, or a command, which is shown as code.
    ``label`` says which fact it is: ``found``. ``moments`` are times in the text, each as it stands there, and in epoch
    milliseconds.
    """

    text: str
    old: str | None = None
    new: str | None = None
    rank: Rank = Rank.OTHER
    lead: str = ""
    name: str = ""
    label: str = ""
    moments: tuple[tuple[str, int], ...] = ()

    @property
    def labelled_text(self) -> str:
        """Return the text, after its label if it has one: ``found: 3 rows of 10 are null``."""
        return f"{self.label}: {self.text}" if self.label else self.text

    @property
    def sentence(self) -> str:
        """Return the line as one text, its values included: ``description changed: Orders → All orders``."""
        values = [cut(one, limit=_BRIEF_LIMIT) for one in (self.old, self.new) if one is not None]
        if self.lead or not values:
            return self.labelled_text
        return f"{self.labelled_text}: {'was ' if self.new is None else ''}{ARROW.join(values)}"

    @property
    def brief(self) -> str:
        """Return the text as a headline has it: with a short value that came or went.

        Where that is too long, the name gives way, and what is said of it stays: ``column a_long_na… renamed to z``.
        """
        values = [one for one in (self.old, self.new) if one is not None]
        is_told = self.lead or len(values) != 1 or self.rank is Rank.DESCRIPTION or len(values[0]) > _TITLE_LIMIT
        text = clean_line(self.text if is_told else self.sentence, limit=len(self.text) + SHOWN_LIMIT)
        surplus = len(text) - HEADLINE_LIMIT
        name = re.search(rf"(?:^|(?<=[ .])){re.escape(self.name)}(?= |$)", text) if self.name and surplus > 0 else None
        if name:
            short_name = cut(self.name, limit=max(_NAME_LIMIT, len(self.name) - surplus))
            text = f"{text[: name.start()]}{short_name}{text[name.end() :]}"
        return clean_line(text)

    def as_breaking(self, announced: str = "") -> ChangeLine:
        """Return the line of the same change, which breaks who reads the asset, and how it was ``announced``."""
        return self.with_mark(f"{_BREAKING}, {announced}" if announced else _BREAKING)._replace(rank=Rank.BREAKING)

    def with_mark(self, mark: str) -> ChangeLine:
        """Return the line of the same change behind a mark, such as ``as announced by CR-12``."""
        return self._replace(text=f"{mark}: {self.text}", lead=f"{mark}: {self.lead}" if self.lead else "")

    @property
    def is_inline(self) -> bool:
        """Return whether ``text`` holds the values."""
        return bool(self.lead)

    def parts(self) -> tuple[str, str, str]:
        """Return what stands before the name in the text, or in its lead, the name, and what stands behind it."""
        text = self.lead or self.text
        before, name, after = f" {text} ".partition(f" {self.name} ") if self.name else (text, "", "")
        return (f"{before} ".lstrip(), self.name, f" {after}".rstrip()) if name else (text, "", "")


YOU = "you"
"""The reader of a message, where it names them."""

ADVICE = "what to do"
"""The label of the line that says how it goes on."""


PURPOSE = "to "
"""What the label of a line begins with that only says with which command something can be done: ``to move it``."""


def advice_line(text: str, command: str = "") -> ChangeLine:
    """Return the line that says how it goes on, with the command in it, if there is one."""
    return ChangeLine(text, rank=Rank.REPORTED, name=command, label=ADVICE)


def advice_in(lines: Iterable[ChangeLine]) -> str | None:
    """Return how it goes on, as lines say it, or else what a command is for; None where they do not."""
    shown_lines = list(lines)
    advice = next((line.text for line in shown_lines if line.label == ADVICE), None)
    return advice or next((line.labelled_text for line in shown_lines if line.label.startswith(PURPOSE)), None)


def command_line(command: str, *, label: str, rank: Rank = Rank.OTHER) -> ChangeLine:
    """Return the line of a command, and what it is for."""
    return ChangeLine(command, rank=rank, name=command, label=label)


ARROW = " → "
"""Between the value before and the value after."""


def exact_moment_text(at_ms: int, zone: str = UTC) -> str:
    """Return a time as ``moment_text`` does, to the second: where events of one minute are told apart."""
    return moment_text(at_ms, zone, form=_SECOND)


def moment_text(at_ms: int, zone: str = UTC, *, form: str = _MINUTE) -> str:
    """Return a time, epoch milliseconds, in an IANA zone: ``2026-01-02 04:04 CET``; in UTC where the zone has none."""
    if zone != UTC:
        try:
            return datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)).strftime(f"{form} %Z")
        except (
            KeyError,
            OverflowError,
            ValueError,
            OSError,
        ):  # beyond the year 9999, or a zone that this machine does not know
            pass
    return f"{strftime(form, gmtime(at_ms / 1_000))} {UTC}"


def clean_line(text: str, *, limit: int = HEADLINE_LIMIT, strips: bool = True) -> str:
    """Return ``text`` on one line, without control and direction characters, cut at ``limit`` characters.

    ``strips``: without blanks at its ends.
    """
    line = CONTROL.sub(" ", text).strip() if strips else CONTROL.sub(" ", text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quotation_of(text: str) -> str:
    """Return what a person wrote as one line in quotation marks, shortened as values are."""
    return f"“{clean_line(text, limit=SHOWN_LIMIT)}”"


def cut(text: str, *, limit: int = SHOWN_LIMIT) -> str:
    """Return ``text``, shortened to ``limit`` characters with an ellipsis when it is longer."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def without_brackets(text: str) -> str:
    """Return a text in which nothing reads as a tag or as a mention (``<!channel>``), where nothing can be escaped."""
    return text.translate(_BRACKETS)

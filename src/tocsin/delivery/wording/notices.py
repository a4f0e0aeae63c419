"""Text of notices to one person: what they say when they are sent, in place of their thread.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tocsin.delivery.dispatch import Dispatch, Objection
from tocsin.delivery.lines import clean_line, moment_text
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.assets import type_text
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry, OutcomeReason
from tocsin.model.notification import Reason
from tocsin.model.phrases import count_text

MOST_FOLLOWS = 20
"""Follows that a notice names; it counts the others."""

_DAY = "%Y-%m-%d"
_NAME_LIMIT = 200


NoticeWords = Mapping[str, RichText | None]
"""What notices say, by notification; None for one of which there is nothing to say any more."""

_NOTHING_LEFT = OutcomeReason.HANDLED, "nothing of what it is about is left, or may be viewed"


def notice_objection(texts: NoticeWords) -> Objection:
    """Return the objection to notices of which there is nothing to say."""

    def objection(entry: Entry, _reason: Reason) -> tuple[OutcomeReason, str] | None:
        return _NOTHING_LEFT if texts.get(entry.notification_id, entry) is None else None

    return objection


def with_notices(dispatch: Dispatch, texts: NoticeWords) -> Dispatch:
    """Return a message whose notices are said in these words."""
    words = {notification_id: text for notification_id, text in texts.items() if text is not None}
    return replace(dispatch, texts={**dispatch.texts, **words}) if words else dispatch


class ExpiringFollow(NamedTuple):
    """A follow that ends soon: the reference to its asset, and the path of the column; empty for the asset itself."""

    asset: Document
    column_path: str = ""

    @property
    def name(self) -> str:
        """Return the full name of what is followed."""
        fqn = str(self.asset["fullyQualifiedName"])
        return f"{fqn}.{self.column_path}" if self.column_path else fqn


def expiring_text(
    follows: Sequence[ExpiringFollow], idle_days: int, ends_ms: int, *, zone: str, base_url: str
) -> RichText:
    """Return what a person is told of follows, one at least, that end at a time because they do not use them."""
    count = count_text(len(follows), "follow")
    verb, them = ("ends", "it") if len(follows) == 1 else ("end", "them")
    day = moment_text(ends_ms, zone, form=_DAY)
    subject = f"{count} of yours {verb} on {day}, unless you keep {them}"
    ordered_follows = sorted(follows, key=lambda follow: follow.name)
    return RichText(subject, tuple(_expiring_blocks(ordered_follows, idle_days, day, base_url)))


def _expiring_blocks(follows: Sequence[ExpiringFollow], idle_days: int, day: str, base_url: str) -> Iterator[RichBlock]:
    cause = f"For {count_text(idle_days, 'day')} nothing of this has changed, or you have read nothing of it."
    yield paragraph(f"{cause} On {day} you no longer follow it:")
    for follow in follows[:MOST_FOLLOWS]:
        yield asset_point(follow.asset, follow.name, f" ({type_text(str(follow.asset['type']))})", base_url)
    if len(follows) > MOST_FOLLOWS:
        yield paragraph(f"… and {len(follows) - MOST_FOLLOWS:,} more")
    keeping = RichBlock(
        BlockKind.PARAGRAPH,
        (
            Span("Keep all: "),
            Span("tocsin follow --review expiring", code=True),
            Span(". Keep one: follow it again. What you open, or what changes, goes on by itself."),
        ),
    )
    yield keeping


def asset_point(asset: Document, name: str, remark: str, base_url: str) -> RichBlock:
    """Return the point of a list that names an asset, with a link to its page, and says something of it."""
    row = ENTITY_TYPES.get(str(asset["type"]))
    link = f"{base_url}/#/{row.collection}/{asset['id']}" if row else None
    spans = (
        Span(clean_line(name, limit=_NAME_LIMIT), link=link),
        Span(clean_line(remark, limit=_NAME_LIMIT, strips=False)),
    )
    return RichBlock(BlockKind.POINT, spans, marker="•")


def paragraph(text: str) -> RichBlock:
    """Return a paragraph without any style."""
    return RichBlock(BlockKind.PARAGRAPH, (Span(text),))

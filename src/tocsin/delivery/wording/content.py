"""Content of a message for people, as plain text without any format: what channels render in their own.

A message has a section for each notification that it shows. Texts are free of control characters and short enough to
read; what is markup or a mention differs by channel, so their renderers see to that.
Next: ``delivery/channels/slack/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tocsin.clock import to_datetime
from tocsin.delivery.dispatch import Button, Dispatch, selections, why
from tocsin.delivery.lines import ChangeLine, clean_line
from tocsin.delivery.rich_text import RichBlock
from tocsin.delivery.wording.changes import asset_of, change_lines, headline
from tocsin.delivery.wording.digests import digest_headline
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.message import Entry
from tocsin.model.thread import THREAD

LINK_TEXT = "Open in Tocsin"
OWNED_BY = "; owned by "

MOST_OWNERS = 5
"""Most owners that a message names; it says how many more there are."""

_NAME_LIMIT = 300
_REASONS_LIMIT = 1_000


@dataclass(frozen=True)
class Section:
    """What a message says of one notification.

    Attributes
    ----------
    asset : FQN and type of the changed asset
    lines : its changes, each with the values before and after where there are any
    more_count : how many changes are only counted
    signature : who did it, and when
    owners : who owns the asset, as far as they are named; ``more_owners_count`` are only counted
    why : why the recipient gets it, as a sentence; empty for no reason
    link : address of the asset's page
    buttons : links to acknowledge the incidents that its failure belongs to
    body : what a template says, in place of the asset, its changes and the signature
    """

    headline: str
    asset: str
    lines: tuple[ChangeLine, ...]
    more_count: int
    signature: str
    why: str
    link: str
    owners: tuple[Owner, ...] = ()
    more_owners_count: int = 0
    body: tuple[RichBlock, ...] = ()
    buttons: tuple[Button, ...] = ()

    def more(self) -> str:
        """Return the sentence that counts the changes left out; empty for none."""
        return more_of(self.more_count)

    def signature_with_owners(self) -> str:
        """Return the signature with the owners: ``Changed by ann, 2026-01-02 03:04 UTC; owned by @Priya``."""
        return f"{self.signature}{OWNED_BY}{self.owners_text()}" if self.owners else self.signature

    def owners_text(self) -> str:
        """Return the owners as plain text; empty for none."""
        return _owners_text(self.owners, self.more_owners_count)


@dataclass(frozen=True)
class Owner:
    """An owner of an asset: by name, and by id if it is a person, who is mentioned where the chat knows them."""

    name: str
    user_id: str | None = None

    def text(self) -> str:
        """Return the owner in plain text: a person as ``@Priya``."""
        return f"@{self.name}" if self.user_id else self.name


_NOBODY = Owner("nobody")


@dataclass(frozen=True)
class MessageContent:
    """What a message says: at least one section; ``left_count`` notifications are only counted."""

    headline: str
    sections: tuple[Section, ...]
    left_count: int = 0
    is_digest: bool = False

    def more(self) -> str:
        """Return the sentence that counts the notifications left out; empty for none."""
        return more_of(self.left_count)


@dataclass(frozen=True)
class ShownLimits:
    """How much a channel shows: notifications of a digest, changes of each of them, changes of a single one.

    ``entries`` are those of one alert, ``most_entries`` those of all that share the digest. Of what a template says
    it shows as many blocks, twice as many of a single one.
    """

    entries: int = 20
    most_entries: int = 24
    lines_each: int = 3
    lines: int = 20


def message_content(dispatch: Dispatch, entries: Sequence[Entry], *, base_url: str, lines_each: int) -> MessageContent:
    """Return what a message says that shows these of its notifications, and of each so many changes."""
    sections = tuple(_section(dispatch, one, base_url, lines_limit=lines_each) for one in entries)
    if len(dispatch.entries) == 1:
        return MessageContent(sections[0].headline, sections)
    title = clean_line(digest_headline(dispatch.entries), limit=_NAME_LIMIT)
    return MessageContent(title, sections, len(dispatch.entries) - len(sections), is_digest=True)


def fitted_payload(
    dispatch: Dispatch,
    render: Callable[[MessageContent], bytes],
    *,
    base_url: str,
    limits: ShownLimits,
    fits: Callable[[bytes], bool],
) -> bytes:
    """Return the payload that ``render`` makes of as much of the message as ``fits``; the rest is counted."""
    payload = b""
    for entries, lines_each in _portions(dispatch, limits):
        payload = render(message_content(dispatch, entries, base_url=base_url, lines_each=lines_each))
        if fits(payload):
            break
    return payload


def _portions(dispatch: Dispatch, limits: ShownLimits) -> Iterator[tuple[Sequence[Entry], int]]:
    """Yield ever less of a message, each time as notifications and how many changes of each."""
    if len(dispatch.entries) == 1:
        lines = 2 * limits.lines if dispatch.texts else limits.lines
        while lines:
            yield dispatch.entries, lines
            lines //= 2
        yield dispatch.entries, 0
        return
    for entries in selections(dispatch, limits.entries):
        if len(entries) <= limits.most_entries:
            yield entries, limits.lines_each


def more_of(count: int) -> str:
    """Return ``… and 3 more``; nothing for none."""
    return f"… and {count:,} more" if count else ""


def _section(dispatch: Dispatch, entry: Entry, base_url: str, *, lines_limit: int) -> Section:
    event, asset, text = entry.event, asset_of(entry.event), dispatch.texts.get(entry.notification_id)
    lines = [] if text else change_lines(event, dispatch.failure)
    body = text.body if text else ()
    did = "From" if event.entity_type == THREAD else "Changed by"
    at = to_datetime(event.timestamp).strftime("%Y-%m-%d %H:%M UTC")
    owners = owners_of(event)
    name = clean_line(event.entity_fully_qualified_name or event.entity_id, limit=_NAME_LIMIT)
    return Section(
        headline=clean_line(text.subject, limit=_NAME_LIMIT) if text else headline(event, entry.reasons),
        asset=f"{name} ({asset.entity_type})",
        lines=tuple(lines[:lines_limit]),
        more_count=max(0, len(lines) + len(body) - lines_limit),
        signature=f"{did} {clean_line(event.user_name or 'someone')}, {at}",
        why=clean_line(why(entry.reasons), limit=_REASONS_LIMIT),
        link=base_url + asset.page,
        owners=owners[:MOST_OWNERS],
        more_owners_count=max(0, len(owners) - MOST_OWNERS),
        body=body[:lines_limit],
        buttons=dispatch.buttons.get(entry.notification_id, ()),
    )


def owners_of(event: ChangeEvent) -> tuple[Owner, ...]:
    """Return the owners of the event's asset who are not deleted: nobody, as one, where all are."""
    owners = (event.entity or {}).get("owners")
    references = [one for one in owners if isinstance(one, dict)] if isinstance(owners, list) else []
    present = tuple(_owner(one) for one in references if not one.get("deleted"))
    return present or ((_NOBODY,) if references else ())


def owned_by_text(event: ChangeEvent) -> str:
    """Return the owners of the event's asset as plain text; empty for none."""
    owners = owners_of(event)
    return _owners_text(owners[:MOST_OWNERS], max(0, len(owners) - MOST_OWNERS))


def _owners_text(owners: Iterable[Owner], more_count: int) -> str:
    return " ".join(filter(None, (", ".join(one.text() for one in owners), more_of(more_count))))


def _owner(reference: Document) -> Owner:
    name = clean_line(str(reference.get("displayName") or reference.get("name") or reference.get("id")))
    is_person = reference.get("type") == "user" and isinstance(reference.get("id"), str)
    return Owner(name, reference["id"] if is_person else None)

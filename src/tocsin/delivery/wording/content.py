"""Content of a message for people, as plain text without any format: what channels render in their own.

A message has a section for each notification that it shows. Texts are free of control characters and short enough to
read; what is markup or a mention differs by channel, so their renderers see to that.
Next: ``delivery/channels/slack/render.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from tocsin.delivery.dispatch import (
    NO_GUIDANCE,
    Advice,
    Button,
    Dispatch,
    FailureContext,
    Guidance,
    PageLink,
    selections,
)
from tocsin.delivery.lines import ADVICE, PURPOSE, YOU, ChangeLine, clean_line, cut, moment_text
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.assets import type_text
from tocsin.delivery.wording.cause_groups import group_by_cause
from tocsin.delivery.wording.causes import causes_of_entries
from tocsin.delivery.wording.change_requests import SINCE_THEN, objection_line
from tocsin.delivery.wording.changes import EventText, event_text
from tocsin.delivery.wording.deeds import deed_text
from tocsin.delivery.wording.digest_headlines import digest_headline, told_count
from tocsin.delivery.wording.folding import fold_repeated
from tocsin.delivery.wording.guidance import failure_advice, guidance_blocks, incident_block, request_blocks
from tocsin.delivery.wording.importance import ToldKind, kind_of, sort_entries
from tocsin.delivery.wording.incidents import INCIDENT_LABEL
from tocsin.delivery.wording.readers import ids_of_readers
from tocsin.delivery.wording.reasons import why_text
from tocsin.delivery.wording.reports import is_recovery
from tocsin.delivery.wording.request_states import RequestRead, request_lines, request_read
from tocsin.delivery.wording.spans import spans_of
from tocsin.delivery.wording.surroundings import ENDED_ADVICE, FAILURE_ADVICE, STREAKS, with_failure_advice
from tocsin.delivery.wording.tones import Tone, tone_of
from tocsin.delivery.wording.whole_folding import fold_wholes, part_blocks
from tocsin.model.change import OF_CHANGE_REQUESTS, ChangeEvent
from tocsin.model.change_request import NOT_ASKED, AskedFor
from tocsin.model.message import Entry
from tocsin.model.notification import ReasonKind
from tocsin.model.thread import THREAD

LINK_TEXT = "Open in Tocsin"
REDUCED = "Some of it is left out, because a policy hides it."
"""What a message says from which rights have removed something: not how much, which may itself be hidden."""

OWNED_BY = "; owned by "

MOST_OWNERS = 5
"""Most owners that a message names; it says how many more there are."""

_MOST_ENTRIES_EACH, _MOST_ENTRIES = 20, 24
"""Most notifications that a digest in a chat shows: of one alert, and of all alerts that share the digest."""

_MOST_LINES_EACH, _MOST_LINES = 3, 20
"""Most changes that a chat shows of each notification in a digest, and of a single one.

Of what a template says it shows as many blocks, twice as many of a single one.
"""

_ALWAYS_TOLD = frozenset({ADVICE, SINCE_THEN, *STREAKS})
"""Labels of lines that no message leaves out to be short."""

_NAME_LIMIT = 300
_LINE_LIMIT = 1_000


@dataclass(frozen=True)
class Owner:
    """An owner of an asset: their name, a person's as ``@Priya``; and a person's id, to be mentioned where known."""

    text: str
    user_id: str | None = None


_NOBODY = Owner("nobody")


class _Manner(NamedTuple):
    """What messages have in common that say the same of an event, but for why, buttons and notes.

    Attributes
    ----------
    kinds : the kinds of reasons for which a thread or change request concerns its reader; None for other events
    request : the change request as it is now; None for other events
    failure : what is known of a failure
    zone : the reader's time zone
    reader_id : who they are, where the event names them
    advice : what is advised against a failure; empty for nothing
    links_incident : a note links to the incident, so that no line names it
    told_count : how many notifications are told as this one
    """

    kinds: frozenset[ReasonKind] | None
    request: RequestRead | None
    failure: FailureContext | None
    zone: str
    reader_id: str | None
    advice: str
    links_incident: bool
    told_count: int


class Section(NamedTuple):
    """What a message says of one notification.

    Attributes
    ----------
    full_name : FQN of the changed asset
    lines : its changes, each with the values before and after where there are any
    change_count : how many lines there are before those that only say with which command something can be done
    more_count : how many changes are only counted
    did : what was done, and by whom, before the time: ``changed by ann,``; ``reported`` of results and runs, which
        nobody changes
    at, at_ms : when, as text and in epoch milliseconds
    tone : what the colour of the message means
    versions : of the asset, before and after, where it has got a new one
    owners : who owns the asset, as far as they are named; ``more_owners_count`` are only counted
    owned_by : the same as text, after a semicolon; empty for none
    why : why the recipient gets it, as a sentence; empty for no reason
    link : address of the asset's page
    buttons : links to acknowledge the incidents that its failure belongs to, or to answer a change request
    notes : what is told with it, how bad it is and what is to be done, as far as its alerts or test say so: a
        paragraph each
    body : what a template says, in place of the asset, its changes and the signature
    group : what stands above it, where it is the first of its kind in a digest of several kinds; empty for nothing
    cause : what stands below that, where it is the first of its cause in a digest: ``dbt run 7 by dbt: 13 changes of 6
        assets``; empty for nothing
    variant : the manner in which the event is worded; None where a template words it
    """

    headline: str
    full_name: str
    entity_type: str
    lines: tuple[ChangeLine, ...]
    change_count: int
    more_count: int
    did: str
    at: str
    at_ms: int
    versions: str
    why: str
    link: str
    owners: tuple[Owner, ...] = ()
    more_owners_count: int = 0
    owned_by: str = ""
    body: tuple[RichBlock, ...] = ()
    buttons: tuple[Button, ...] = ()
    notes: tuple[RichBlock, ...] = ()
    tone: Tone = Tone.NEUTRAL
    group: str = ""
    cause: str = ""
    variant: _Manner | None = None

    @property
    def asset(self) -> str:
        """Return FQN and type of the changed asset, as chats show them."""
        return f"{cut(self.full_name, limit=_NAME_LIMIT)} ({self.entity_type})"

    @property
    def brief(self) -> tuple[Span, ...]:
        """Return the changed asset, who did what to it, and when, as chats show them of one notification of several."""
        return (Span(f"{self.asset}, {self.did} {self.at}"),)

    @property
    def signature(self) -> str:
        """Return who did it, and when: ``Changed by ann, 2026-01-02 03:04 UTC``."""
        return f"{self.byline} {self.at}"

    @property
    def byline(self) -> str:
        """Return what was done and by whom, as the beginning of a sentence."""
        return f"{self.did[:1].upper()}{self.did[1:]}"

    @property
    def spans(self) -> tuple[tuple[Span, ...], ...]:
        """Return the changes as styled text."""
        return tuple(map(spans_of, self.lines))

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Return the address of each link, with its text: to the asset's page first."""
        return ((self.link, LINK_TEXT), *((button.address, button.text) for button in self.buttons))

    def more(self) -> str:
        """Return the sentence that counts the changes left out; empty for none."""
        return more_of(self.more_count)


@dataclass(frozen=True)
class MessageContent:
    """What a message says: at least one section; ``left_count`` notifications are only counted.

    ``hint`` says that a policy hides something from who reads it; empty if none does.
    """

    headline: str
    sections: tuple[Section, ...]
    left_count: int = 0
    is_digest: bool = False
    hint: str = ""

    @cached_property
    def tone(self) -> Tone:
        """Return the worst tone of what the message shows."""
        return max((section.tone for section in self.sections), default=Tone.NEUTRAL)

    @property
    def title(self) -> str:
        """Return the headline as chats show it."""
        return clean_line(self.headline, limit=_NAME_LIMIT)

    def more(self) -> str:
        """Return the sentence that counts the notifications left out; empty for none."""
        return more_of(self.left_count)


def message_content(dispatch: Dispatch, entries: Sequence[Entry], *, base_url: str, lines_each: int) -> MessageContent:
    """Return what a message says that shows these of its notifications, and of each so many changes."""
    recovery_offsets = _recovery_offsets(dispatch) if len(dispatch.entries) > 1 else {}
    sections: list[Section] = []
    for entry in entries:
        is_over = bool(recovery_offsets) and entry.log_offset < recovery_offsets.get(_place_of(entry.event), 0)
        sections.append(_section_of(entry, dispatch, is_over=is_over, base_url=base_url, lines_each=lines_each))
    hint = REDUCED if dispatch.is_reduced else ""
    if len(dispatch.entries) == 1:
        (entry,) = dispatch.entries
        is_led_by_part = entry.parts and entry.whole_id is not None
        headline = digest_headline(dispatch.entries) if is_led_by_part else sections[0].headline
        return MessageContent(headline, tuple(sections), hint=hint)
    causes = causes_of_entries(dispatch.entries)
    headings = group_by_cause(dispatch.entries, causes).headings
    sections = _under_causes(entries, _grouped_sections(entries, sections), headings)
    left_count = told_count(dispatch.entries) - told_count(entries)
    continues = dispatch.cause_thread is not None and not dispatch.cause_thread.is_in_place
    headline = digest_headline(dispatch.entries, causes, continues=continues)
    return MessageContent(headline, tuple(sections), left_count, is_digest=True, hint=hint)


def _section_of(entry: Entry, dispatch: Dispatch, *, is_over: bool, base_url: str, lines_each: int) -> Section:
    """Return what a message says of a notification; ``is_over``: the message tells of a success after its failure."""
    failure = _failure_of(entry, dispatch)
    manner = _manner_of(entry, dispatch, failure, is_over=is_over)
    template_text = dispatch.texts.get(entry.notification_id)
    texts = entry.carried.texts if template_text is None else {}
    if (key := (Section, base_url, lines_each, manner)) not in texts:
        texts[key] = _event_section(entry, manner, template_text, base_url=base_url, lines_each=lines_each)
    section: Section = texts[key]
    answerable = dispatch.answerable.get(entry.notification_id, NOT_ASKED)
    why = _why_in(texts, entry, dispatch.message.channel, answerable)
    if (key_of_whole := (*key, why)) not in texts:
        texts[key_of_whole] = section._replace(why=why)
    section = texts[key_of_whole]
    if buttons := dispatch.buttons.get(entry.notification_id, ()):
        section = section._replace(buttons=buttons)
    section = _with_page_links(section, dispatch.page_link, entry) if dispatch.page_link else section
    incident = dispatch.incidents.get(entry.notification_id)
    if entry.parts or dispatch.guidance or failure or incident:
        told_incident = incident.read_by(entry.recipient_id) if incident else None
        incident_blocks = (incident_block(told_incident, base_url),) if told_incident else ()
        section = section._replace(notes=(*incident_blocks, *_notes_of(entry, dispatch, failure, section)))
    if entry.event.event_type in OF_CHANGE_REQUESTS or answerable.objection:
        section = _with_request_notes(section, entry.event, answerable, base_url)
    return section


def _with_request_notes(section: Section, event: ChangeEvent, answerable: AskedFor, base_url: str) -> Section:
    """Return a section with an objection to a change request, and a link to the request where no button leads to it."""
    notes = section.notes if section.buttons else (*request_blocks(event, base_url), *section.notes)
    if answerable.objection:
        notes = (RichBlock(BlockKind.PARAGRAPH, spans_of(objection_line(answerable.objection))), *notes)
    return section._replace(notes=notes)


def _why_in(texts: dict[tuple[object, ...], Any], entry: Entry, channel: str, answerable: AskedFor) -> str:
    """Return why the recipient gets a notification, made once for all who get it for the same reasons."""
    if (key := (why_text, entry.reasons, channel, answerable)) not in texts:
        why = why_text(entry.carried.event, entry.reasons, channel, answerable)
        texts[key] = clean_line(why, limit=_LINE_LIMIT)
    return str(texts[key])


def _failure_of(entry: Entry, dispatch: Dispatch) -> FailureContext | None:
    """Return what a message knows of the failure that a notification tells of, as its reader is told it."""
    failure = dispatch.failure
    if dispatch.incidents or dispatch.streaks:
        failure = failure or _failure_in_digest(entry, dispatch)
    if failure and failure.incident:
        return replace(failure, incident=failure.incident.read_by(entry.recipient_id))
    return failure


def _manner_of(entry: Entry, dispatch: Dispatch, failure: FailureContext | None, *, is_over: bool) -> _Manner:
    """Return the manner in which a message words the event of a notification."""
    event, identity = entry.carried.event, entry.notification_id
    is_addressed = event.entity_type == THREAD or event.event_type in OF_CHANGE_REQUESTS
    kinds = frozenset(one.kind for one in entry.reasons) if is_addressed else None
    request = request_read(entry, dispatch) if dispatch.requests else None
    reader_id = entry.recipient_id if entry.recipient_id in entry.carried.remember(ids_of_readers) else None
    is_plain = failure is None and not (dispatch.guidance or dispatch.buttons.get(identity))
    going_on = FAILURE_ADVICE if is_plain else failure_advice(entry, dispatch, failure)
    advice = ENDED_ADVICE if is_over else going_on
    links_incident = identity in dispatch.incidents
    return _Manner(kinds, request, failure, dispatch.zone, reader_id, advice, links_incident, entry.told_count)


def _with_page_links(section: Section, page_link: PageLink, entry: Entry) -> Section:
    """Return a section whose links to pages mark it as read when its reader opens them."""
    identity, link = entry.notification_id, page_link(section.link, entry.notification_id)
    if not section.buttons:
        return section._replace(link=link)
    buttons = tuple(one._replace(address=page_link(one.address, identity)) for one in section.buttons)
    return section._replace(link=link, buttons=buttons)


def _recovery_offsets(dispatch: Dispatch) -> dict[tuple[str, str], int]:
    """Return where in the log a message tells of the last success of each test or run that had failed."""
    recoveries = (entry for entry in dispatch.entries if kind_of(entry) is ToldKind.RECOVERY)
    offsets = sorted((entry.log_offset, _place_of(entry.event)) for entry in recoveries if is_recovery(entry.event))
    return {place: offset for offset, place in offsets}


def _place_of(event: ChangeEvent) -> tuple[str, str]:
    return event.entity_type, event.entity_id


def _grouped_sections(entries: Sequence[Entry], sections: Sequence[Section]) -> list[Section]:
    """Return sections, the first of each kind below a title where there are several kinds."""
    kinds = [kind_of(entry) for entry in entries]
    if len(set(kinds)) < 2:
        return list(sections)
    return [
        section._replace(group=kind.title) if kind not in kinds[:place] else section
        for place, (kind, section) in enumerate(zip(kinds, sections, strict=True))
    ]


def _under_causes(entries: Sequence[Entry], sections: Sequence[Section], headings: Mapping[str, str]) -> list[Section]:
    """Return sections, the first of each cause below what says what did how much."""
    texts = [headings.get(entry.notification_id, "") for entry in entries]
    above = ["", *texts]
    return [
        section._replace(cause=text) if text and (text != before or section.group) else section
        for section, text, before in zip(sections, texts, above, strict=False)
    ]


def fold_notifications(dispatch: Dispatch) -> Dispatch:
    """Return a message in which those notifications are one that people need not read apart, in order of importance."""
    return sort_by_importance(fold_wholes(fold_repeated(dispatch)))


def _failure_in_digest(entry: Entry, dispatch: Dispatch) -> FailureContext | None:
    """Return the incident of the failure that a notification in a digest tells of, since when, and how often."""
    incident, streak = dispatch.incidents.get(entry.notification_id), dispatch.streaks.get(entry.notification_id)
    return replace(streak or FailureContext(), incident=incident) if incident or streak else None


def _notes_of(
    entry: Entry, dispatch: Dispatch, failure: FailureContext | None, section: Section
) -> tuple[RichBlock, ...]:
    """Return what a message says of a notification beside its event: other messages about the event do not."""
    guidance = dispatch.guidance.get(entry.notification_id)
    if failure and (guidance or failure.runbook):
        guidance = _beside_failure(guidance or NO_GUIDANCE, failure, section)
    parts = part_blocks(entry, dispatch.message.channel) if entry.parts else ()
    return (*parts, *(guidance_blocks(guidance) if guidance else ()))


def _event_section(
    entry: Entry, manner: _Manner, template_text: RichText | None, *, base_url: str, lines_each: int
) -> Section:
    """Return what a message says of an event in this manner, or what its template says, without why and buttons."""
    event, reader_id = entry.carried.event, manner.reader_id
    text = event_text(event, entry.reasons, manner.failure, zone=manner.zone, reader_id=reader_id)
    lines = text.lines if manner.advice == FAILURE_ADVICE else list(with_failure_advice(text.lines, manner.advice))
    if manner.request is not None:
        lines = request_lines(lines, entry, manner.request, manner.zone)
    lines = [line for line in lines if not manner.links_incident or line.label != INCIDENT_LABEL]
    section = _worded_section(entry, text._replace(lines=lines), template_text, lines_each=lines_each)
    section = _with_owners(section, event, reader_id) if not text.asset.full_name else section
    at, link = moment_text(event.timestamp, manner.zone), base_url + text.asset.page
    return section._replace(at=at, link=link, variant=manner if template_text is None else None)


def _worded_section(entry: Entry, text: EventText, template_text: RichText | None, *, lines_each: int) -> Section:
    """Return what a message says of an event, with so many lines or blocks, and what is to be done beside them."""
    event = entry.carried.event
    full_name = text.asset.full_name or event.entity_fully_qualified_name
    lines, body = ([], template_text.body) if template_text else (text.lines, ())
    further_lines = (line for line in lines[lines_each:] if line.label in _ALWAYS_TOLD) if lines_each else ()
    shown_lines = (*lines[:lines_each], *further_lines)
    commands = [line for line in shown_lines if line.label.startswith(PURPOSE)]
    shown_lines = (*(line for line in shown_lines if line not in commands), *commands) if commands else shown_lines
    before, after = event.previous_version, event.current_version
    return Section(
        headline=template_text.subject if template_text else text.headline,
        full_name=clean_line(full_name or event.entity_id, limit=_LINE_LIMIT),
        entity_type=type_text(text.asset.entity_type),
        lines=shown_lines,
        change_count=len(shown_lines) - len(commands),
        more_count=len(lines) - len(shown_lines) + max(0, len(body) - lines_each),
        did=deed_text(event, entry.told_count),
        at_ms=event.timestamp,
        tone=tone_of(event),
        at="",
        versions=f"{before:.1f} to {after:.1f}" if before and after and before != after else "",
        why="",
        link="",
        body=body[:lines_each],
    )


def _with_owners(section: Section, event: ChangeEvent, reader_id: str | None) -> Section:
    """Return a section that says who owns the asset, to one of them as "you"."""
    if not (owners := owners_of(event)):
        return section
    more_count = max(0, len(owners) - MOST_OWNERS)
    shown_owners = tuple(
        replace(owner, text=YOU) if reader_id and owner.user_id == reader_id else owner
        for owner in owners[:MOST_OWNERS]
    )
    more_text = f" {more_of(more_count)}" if more_count else ""
    owned_by = f"{OWNED_BY}{', '.join(owner.text for owner in shown_owners)}{more_text}"
    return section._replace(owners=shown_owners, more_owners_count=more_count, owned_by=owned_by)


def _beside_failure(guidance: Guidance, failure: FailureContext, section: Section) -> Guidance:
    """Return guidance without a severity where the incident's is as bad; with the definition's runbook for none."""
    said_severity = failure.incident.severity if failure.incident else None
    if section.variant and said_severity and guidance.severity and said_severity <= guidance.severity:
        guidance = guidance._replace(severity=None)
    if failure.runbook and not guidance.advice:
        guidance = guidance._replace(advice=(Advice(failure.runbook.runbook),))
    return guidance


def fitted_payload(
    dispatch: Dispatch, render: Callable[[MessageContent], bytes], *, base_url: str, most_bytes: int
) -> bytes:
    """Return the payload that ``render`` makes of as much of the message as fits; the rest is counted."""
    payload, dispatch = b"", fold_notifications(dispatch)
    for entries, lines_each in _portions(dispatch):
        payload = render(message_content(dispatch, entries, base_url=base_url, lines_each=lines_each))
        if len(payload) <= most_bytes:
            break
    return payload


def sort_by_importance(dispatch: Dispatch) -> Dispatch:
    """Return a message with its notifications as its headline counts them: failures first, each kind by its causes.

    Where there are more than a message shows, those that matter least are only counted.
    """
    entries = sort_entries(dispatch.entries)
    if len(entries) > 1:
        entries = group_by_cause(entries, causes_of_entries(entries)).entries
    return replace(dispatch, entries=entries)


def _portions(dispatch: Dispatch) -> Iterator[tuple[Sequence[Entry], int]]:
    """Yield ever less of a message, each time as notifications and how many changes of each."""
    if len(dispatch.entries) == 1:
        lines = 2 * _MOST_LINES if dispatch.texts else _MOST_LINES
        while lines:
            yield dispatch.entries, lines
            lines //= 2
        yield dispatch.entries, 0
        return
    for entries in selections(dispatch, _MOST_ENTRIES_EACH):
        if len(entries) <= _MOST_ENTRIES:
            yield entries, _MOST_LINES_EACH


def more_of(count: int) -> str:
    """Return ``… and 3 more``; nothing for none."""
    return f"… and {count:,} more" if count else ""


def owners_of(event: ChangeEvent) -> tuple[Owner, ...]:
    """Return the owners of the event's asset who are not deleted: nobody, as one, where all are."""
    references = (event.entity or {}).get("owners")
    owners = [one for one in references if isinstance(one, dict)] if isinstance(references, list) else []
    present: list[Owner] = []
    for owner in owners:
        if not owner.get("deleted"):
            name = clean_line(str(owner.get("displayName") or owner.get("name") or owner.get("id")))
            is_person = owner.get("type") == "user" and isinstance(owner.get("id"), str)
            present.append(Owner(f"@{name}", owner["id"]) if is_person else Owner(name))
    return tuple(present) or ((_NOBODY,) if owners else ())

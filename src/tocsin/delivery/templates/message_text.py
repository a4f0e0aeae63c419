"""Text of messages by templates: what a template says of each notification, or why it does not.

A notification whose template fails keeps its default text, and the attempt records why.
Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from tocsin.delivery.dispatch import NOBODY, Dispatch, PageLink, RenderingAccount
from tocsin.delivery.lines import UTC, clean_line
from tocsin.delivery.rich_text import RichText
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.budget import Budget
from tocsin.delivery.templates.parse import parse
from tocsin.delivery.templates.render import Context, render_html, render_line
from tocsin.delivery.templates.rich_text import blocks_of
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import as_default
from tocsin.errors import InvalidTemplate
from tocsin.model.message import Entry
from tocsin.model.template import Template

SUBJECT_LIMIT = 256
"""Most characters of a rendered subject; channels cut it shorter."""

PUBLISHER = "Tocsin"

_MESSAGE_SECONDS = 3.0
T = TypeVar("T")


class ChosenTemplate(NamedTuple):
    """The template that words a notification, and whose time it takes: of the first of these who has some left."""

    template: Template
    payers: Sequence[RenderingAccount] = (NOBODY,)


TemplateOf = Callable[[Entry], ChosenTemplate | None]


@dataclass(frozen=True)
class MessagePlace:
    """Where a message goes to and its links lead: a channel, the address of Tocsin's page, and what makes its links.

    ``zone`` is the IANA zone of its times.
    """

    channel: str
    base_url: str
    page_link: PageLink | None = None
    zone: str = UTC


def check_template(template: Template) -> None:
    """Check that a template can be read; raise ``InvalidTemplate`` with its field where it cannot."""
    for field, text in (("templateSubject", template.subject), ("templateBody", template.body)):
        _with_field(field, partial(parse, text))


def render_entry(template: Template, entry: Entry, place: MessagePlace) -> RichText:
    """Return what a template says of a notification.

    Raises
    ------
    InvalidTemplate : it fails, exceeds a limit or says nothing; ``field`` says which part
    """
    context = context_of(entry, place)
    subject = _with_field("templateSubject", lambda: render_line(template.subject, context, Budget()))
    body = blocks_of(_with_field("templateBody", lambda: render_html(template.body, context, Budget())))
    if not body:
        raise InvalidTemplate("the template says nothing of this event", field="templateBody")
    return RichText(clean_line(subject, limit=SUBJECT_LIMIT) or str(context["headline"]), body)


def context_of(entry: Entry, place: MessagePlace) -> Context:
    """Return what a template can name: upstream's context, and the default text with its reasons."""
    wire, text = as_default(entry.carried.as_wire()), event_text(entry.event, entry.reasons, zone=place.zone)
    address = place.base_url + text.asset.page
    return {
        "event": {key: value for key, value in wire.items() if key != "entity"},
        "entity": wire.get("entity"),
        "baseUrl": place.base_url,
        "publisherName": PUBLISHER,
        "emailingEntity": PUBLISHER,
        "channel": place.channel.lower(),
        "headline": text.headline,
        "changes": [
            {"text": line.labelled_text, "oldValue": line.old, "newValue": line.new} for line in text.all_lines
        ],
        "reason": text.why,
        "link": place.page_link(address, entry.notification_id) if place.page_link else address,
    }


def with_texts(
    dispatch: Dispatch,
    template_of: TemplateOf,
    place: MessagePlace,
    *,
    entries: Sequence[Entry],
    accounts: TemplateAccounts,
) -> tuple[Dispatch, str]:
    """Return a message with the texts of templates for these ``entries`` of it; what went wrong.

    All renderings of one message for one payer share the time that one message may take.
    """
    texts: dict[str, RichText] = {}
    problems: list[str] = []
    spent = defaultdict[RenderingAccount, float](float)
    for entry in entries:
        choice = template_of(entry)
        if choice is None:
            continue
        payers_with_time = (one for one in choice.payers if accounts.can_pay(one) and spent[one] <= _MESSAGE_SECONDS)
        payer = next(payers_with_time, choice.payers[0])
        try:
            if spent[payer] > _MESSAGE_SECONDS:
                raise InvalidTemplate(f"The templates of one message take longer than {_MESSAGE_SECONDS:g} s")
            with accounts.charge(payer, spent):
                texts[entry.notification_id] = render_entry(choice.template, entry, place)
        except InvalidTemplate as error:
            problems.append(f"template {choice.template.name}: {error.field or 'templateBody'}: {error.message}")
    return replace(dispatch, texts=texts) if texts else dispatch, _problems_text(problems)


def _problems_text(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    more_text = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0]}{more_text}; the default text was used"


def _with_field(field: str, work: Callable[[], T]) -> T:
    try:
        return work()
    except InvalidTemplate as error:
        raise InvalidTemplate(error.message, line=error.line, column=error.column, field=field) from None

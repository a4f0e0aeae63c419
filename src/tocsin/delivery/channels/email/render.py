"""Email rendering: a dispatch becomes a complete message, with subject, text, HTML and headers.

The texts come from ``delivery/wording/changes.py``, the layout from the templates of this package; nothing in an
entity can add a header or markup. Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UniqueAddressHeader, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime, parseaddr
from functools import cache

from jinja2 import Environment, PackageLoader, select_autoescape
from yarl import URL

from tocsin.clock import to_datetime
from tocsin.delivery.dispatch import Dispatch, selections
from tocsin.delivery.lines import clean_line
from tocsin.delivery.links.tokens import UNSUBSCRIBE, sign_token
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.templates.html_text import to_html, to_text
from tocsin.delivery.wording.content import message_content, more_of
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

LINES_LIMIT = 50
"""Most changes that one mail lists; it says how many more there are."""

BLOCKS_LIMIT, BLOCKS_EACH = 200, 20
"""Most blocks of what a template says: of a single notification, and of each in a digest."""

CHARS_EACH = 3_000
"""Most characters of what a template says of each notification in a digest."""

CHANGES_LIMIT = 100
"""Most notifications of one alert that a digest shows; it says how many more there are."""

CHANGES_OF_ALL_LIMIT = 500
"""Most notifications that a digest shows which several alerts share."""

ONE_CLICK = "List-Unsubscribe=One-Click"
"""What the mail program of somebody who unsubscribes posts. Source: RFC 8058."""

_SUBJECT_LIMIT = 150
_MOST_ON_A_LINE = 75
"""Characters of an encoded word, and of a header's line without the blank at its beginning."""


class _AddressesHeader(UnstructuredHeader, BaseHeader):
    """A header that holds addresses of the web, which no mail program reads when they are encoded or broken.

    Python encodes what is longer than a line as words of RFC 2047, where RFC 2369 allows no such thing.
    """

    def fold(self, *, policy: Policy) -> str:
        """Return the header unfolded, on one line; mail servers accept lines of 998 octets."""
        return f"{self.name}: {self}{policy.linesep}"


class _SubjectHeader(UnstructuredHeader, BaseHeader):
    """The subject, in encoded words that are read as what was written.

    Python's own folding makes words of more than 75 characters, and of some texts loses or adds blanks beside them; its
    parser decodes what an asset's name holds.
    """

    value_parser = staticmethod(str)  # type: ignore[assignment]  # only the base class reads a tree, to fold it
    """Keeps the text as it is written."""

    def fold(self, *, policy: Policy) -> str:
        """Return the header in lines of at most 76 characters, but for words of ASCII that are longer."""
        return f"{self.name}: {_encode_header(str(self), self.name, policy)}{policy.linesep}"


class _SenderHeader(UniqueAddressHeader, BaseHeader):  # type: ignore[misc]  # as HeaderRegistry combines them
    """The sender, the name in encoded words if it is not ASCII."""

    def fold(self, *, policy: Policy) -> str:
        """Return the header in lines of at most 76 characters, but for an address that is longer."""
        name, address = parseaddr(str(self))
        if name.isascii():
            return super().fold(policy=policy)
        return f"{self.name}: {_encode_header(name, self.name, policy)}{policy.linesep} <{address}>{policy.linesep}"


def _encode_header(text: str, name: str, policy: Policy) -> str:
    """Return a text as a header's value. Source: RFC 2047, section 2."""
    charset = "us-ascii" if text.isascii() and "=?" not in text else "utf-8"
    return Header(text, charset, _MOST_ON_A_LINE, header_name=name, errors="replace").encode(linesep=policy.linesep)


def _policy() -> Policy:
    headers = HeaderRegistry()
    headers.map_to_type("List-Unsubscribe", _AddressesHeader)
    headers.map_to_type("Subject", _SubjectHeader)
    headers.map_to_type("From", _SenderHeader)
    return SMTP.clone(header_factory=headers)


_MAIL = _policy()


@dataclass(frozen=True)
class MailSettings:
    """Who mails come from, and where their links lead; without a key they have no link to unsubscribe."""

    address: str
    base_url: str
    unsubscribe_key: bytes = field(default=b"", repr=False)


def render_mail(dispatch: Dispatch, sender: MailSettings, *, now_ms: int) -> EmailMessage:
    """Return the mail for ``dispatch``; raise ``InvalidInput`` when its address is invalid."""
    host = parseaddr(sender.address)[1].rpartition("@")[2] or "localhost"
    first, unsubscribe = dispatch.entries[0], ""
    if sender.unsubscribe_key:
        token = sign_token(UNSUBSCRIBE, first.notification_id, sender.unsubscribe_key)
        unsubscribe = f"{sender.base_url}/api/v1/unsubscribe/{token}"
    texts = preview(dispatch, sender.base_url, unsubscribe)
    message = EmailMessage(policy=_MAIL)
    message["From"] = sender.address
    try:
        message["To"] = Address(addr_spec=dispatch.message.target)
    except (ValueError, IndexError) as error:
        raise InvalidInput("not an e-mail address", field="target") from error
    message["Subject"] = texts["subject"]
    message["Date"] = format_datetime(to_datetime(now_ms))
    message["Message-ID"] = f"<{dispatch.message.id}@{host}>"
    if dispatch.answers is not None:
        answered = f"<{dispatch.answers.message_id}@{host}>"
        message["In-Reply-To"] = answered
        message["References"] = answered
    message["Auto-Submitted"] = "auto-generated"
    message["X-Tocsin-Offset"] = str(first.log_offset)
    if unsubscribe:
        message["List-Unsubscribe"] = f"<{URL(unsubscribe)}>"  # in ASCII, whatever the server is called
        message["List-Unsubscribe-Post"] = ONE_CLICK
    message.set_content(texts["text"])
    message.add_alternative(texts["html"], subtype="html")
    return message


def preview(dispatch: Dispatch, base_url: str, unsubscribe: str = "") -> Document:
    """Return the subject, the text and the HTML of the mail for ``dispatch``; the links in it lead to ``base_url``."""
    entries, is_digest = dispatch.entries, len(dispatch.entries) > 1
    if is_digest:
        entries = next(some for some in selections(dispatch, CHANGES_LIMIT) if len(some) <= CHANGES_OF_ALL_LIMIT)
    content = message_content(dispatch, entries, base_url=base_url, lines_each=LINES_LIMIT)
    texts = [dispatch.texts.get(entry.notification_id) for entry in entries]
    bodies = [_shortened_body(text, is_single=not is_digest) if text else None for text in texts]
    variables = {"content": content, "bodies": bodies, "unsubscribe": unsubscribe}
    text, html = (_templates().get_template(f"mail.{kind}.j2").render(variables) for kind in ("txt", "html"))
    return {"subject": clean_line(content.headline, limit=_SUBJECT_LIMIT), "text": text, "html": html}


def _shortened_body(text: RichText, *, is_single: bool) -> tuple[RichBlock, ...]:
    """Return what a template says of a notification, as far as the mail shows it."""
    blocks = text.body[: BLOCKS_LIMIT if is_single else BLOCKS_EACH]
    while not is_single and len(blocks) > 1 and sum(len(one.text()) for one in blocks) > CHARS_EACH:
        blocks = blocks[:-1]
    more_text = more_of(len(text.body) - len(blocks))
    return (*blocks, RichBlock(BlockKind.PARAGRAPH, (Span(more_text),))) if more_text else blocks


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("tocsin.delivery.channels.email"),
        autoescape=select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"as_html": to_html, "as_text": to_text}
    return templates

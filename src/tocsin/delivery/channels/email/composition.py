"""Composition of mails: headers, and a text with its HTML as alternatives, as the bytes that go to a mail server.

Python's own composition parses each header and each part that it writes, and takes most of a mail's time. It is asked
where a header is not plain, so that folding and encoding are its own. Source: RFC 5322, RFC 2045, RFC 2047.
Next: ``delivery/channels/email/sender.py``.
"""

from __future__ import annotations

import re
from base64 import encodebytes
from binascii import b2a_qp
from collections.abc import Iterable
from email.errors import HeaderParseError
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UniqueAddressHeader, UnstructuredHeader
from email.policy import SMTP, Policy
from email.utils import parseaddr
from functools import lru_cache

from tocsin.errors import InvalidInput

_MOST_ON_A_LINE = 75
"""Characters of an encoded word, and of a header's line without the blank at its beginning."""

_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_PLAIN = re.compile(r"[!-~]+( [!-~]+)*")


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


def _headers() -> HeaderRegistry:
    headers = HeaderRegistry()
    headers.map_to_type("Subject", _SubjectHeader)
    headers.map_to_type("From", _SenderHeader)
    return headers


_HEADERS = _headers()


def compose_mail(headers: Iterable[tuple[str, str]], *, boundary: str, text: str, html: str) -> bytes:
    """Return a mail with these headers that says the same as text and as HTML.

    ``boundary`` parts them: a word of letters, digits and hyphens, which no part can hold behind ``=_``.
    """
    separator = f"--=_{boundary}"
    lines = [_header_line(name, value) for name, value in headers]
    lines += [f'MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary="=_{boundary}"\r\n\r\n']
    parts = [_part(separator, "plain", text), _part(separator, "html", html)]
    return b"".join(("".join(lines).encode(), *parts, f"{separator}--\r\n".encode()))


def check_recipient(target: str) -> str:
    """Return a recipient's address; raise ``InvalidInput`` if it is none."""
    if _PLAIN_ADDRESS.fullmatch(target):
        return target
    try:
        return Address(addr_spec=target).addr_spec
    except (ValueError, IndexError, HeaderParseError) as error:
        raise InvalidInput("not an e-mail address", field="target") from error


def _header_line(name: str, value: str) -> str:
    """Return a header with the end of its line: as it is if it is plain and fits.

    Lists of web addresses are never folded or encoded: no mail program would read them. Source: RFC 2369.
    """
    is_plain = _PLAIN.fullmatch(value) and "=?" not in value and name != "From"
    if is_plain and (len(name) + len(value) + 2 <= _MOST_ON_A_LINE or name == "List-Unsubscribe"):
        return f"{name}: {value}\r\n"
    return _fold_sender(name, value) if name == "From" else _fold(name, value)


def _fold(name: str, value: str) -> str:
    return str(_HEADERS(name, value).fold(policy=SMTP))


_fold_sender = lru_cache(maxsize=10)(_fold)
"""Folds the sender, which is the same in all mails of a process."""


def _part(separator: str, subtype: str, text: str) -> bytes:
    """Return one alternative, in lines of ASCII of at most 76 characters."""
    raw = text.replace("\r\n", "\n").replace("\n", "\r\n").encode("utf-8", "replace")
    encoding, content = "quoted-printable", b2a_qp(raw, istext=True)
    if not text.isascii() and len(content) > len(raw) * 3 // 2:
        encoding, content = "base64", encodebytes(raw).replace(b"\n", b"\r\n")
    head = f'{separator}\r\nContent-Type: text/{subtype}; charset="utf-8"\r\nContent-Transfer-Encoding: {encoding}\r\n'
    return b"".join((head.encode(), b"\r\n", content, b"\r\n"))

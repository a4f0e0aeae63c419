"""Composition of mails: headers, and a text with its HTML as alternatives, as the bytes that go to a mail server.

Python's own composition parses each header and each part that it writes, and takes most of a mail's time. It is called
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
from email.headerregistry import Address, HeaderRegistry
from email.policy import SMTP
from email.utils import parseaddr
from functools import lru_cache

from tocsin.errors import InvalidInput

_MOST_ON_A_LINE = 75
"""Characters of an encoded word, and of a header's line without the blank at its beginning."""

PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
"""An address of a mail that is valid without being parsed; ``parse_address`` judges all others."""

_PLAIN_HEADER = re.compile(
    rf"(?!From: |.*=\?)(List-Unsubscribe: |(?=.{{,{_MOST_ON_A_LINE}}}\Z)[A-Za-z-]+: )[!-~]+( [!-~]+)*"
)
"""A header that is written as it is: short, plain, and no sender.

Lists of web addresses are never folded or encoded: no mail program would read them. Source: RFC 2369.
"""


def compose_mail(headers: Iterable[tuple[str, str]], *, boundary: str, text: str, html: str) -> bytes:
    """Return a mail with these headers that says the same as text and as HTML, in lines of at most 76 characters.

    ``boundary`` parts them: a word of letters, digits and hyphens, which no part can hold behind ``=_``.
    """
    separator, lines = f"--=_{boundary}\r\n", []
    for name, value in headers:
        line = f"{name}: {value}"
        lines.append(f"{line}\r\n" if _PLAIN_HEADER.fullmatch(line) else fold_header(name, value))
    lines += [f'MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary="=_{boundary}"\r\n\r\n']
    for subtype, part in (("plain", text), ("html", html)):
        raw = part.replace("\r\n", "\n").replace("\n", "\r\n").encode("utf-8", "replace")
        encoding, content = "quoted-printable", b2a_qp(raw, istext=True)
        if not part.isascii() and len(content) > len(raw) * 3 // 2:
            encoding, content = "base64", encodebytes(raw).replace(b"\n", b"\r\n")
        lines += [separator, f'Content-Type: text/{subtype}; charset="utf-8"\r\n']
        lines += [f"Content-Transfer-Encoding: {encoding}\r\n\r\n", content.decode("ascii"), "\r\n"]
    return "".join((*lines, f"--=_{boundary}--\r\n")).encode()


@lru_cache(maxsize=10)
def fold_header(name: str, value: str) -> str:
    """Return a header that is not plain, in lines of at most 76 characters, but for longer words of ASCII.

    Subjects, and the names of senders, become encoded words that are read as what was written: Python's own folding
    makes words of more than 75 characters, and of some texts loses or adds blanks beside them. Source: RFC 2047.
    """
    sender, address = parseaddr(value) if name == "From" else ("", "")
    if name != "Subject" and sender.isascii():
        return str(_HEADERS(name, value).fold(policy=SMTP))
    text = sender or value
    charset = "us-ascii" if text.isascii() and "=?" not in text else "utf-8"
    encoded = Header(text, charset, _MOST_ON_A_LINE, header_name=name, errors="replace").encode(linesep="\r\n")
    return f"{name}: {encoded}\r\n" + (f" <{address}>\r\n" if sender else "")


def parse_address(target: str) -> str:
    """Return a recipient's address; raise ``InvalidInput`` if it is none."""
    try:
        return Address(addr_spec=target).addr_spec
    except (ValueError, IndexError, HeaderParseError) as error:
        raise InvalidInput("not an e-mail address", field="target") from error


_HEADERS = HeaderRegistry()

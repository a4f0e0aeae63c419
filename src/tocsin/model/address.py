"""Destination addresses: their origin, and which part of them is secret.

Two addresses have the same origin if scheme, host and port are equal, in whatever spelling. An address that cannot be
parsed unambiguously has no origin, so no secret is ever kept for it.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

MASK = "*********"
"""Replacement of a secret; upstream's own mask."""

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ldap": 389, "ldaps": 636}
_DOUBTFUL = re.compile(r"[\x00-\x20\x7f\\]")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")
_LOGIN = re.compile(r"(?<=://)[^/?#\s]+(?=@)")
_PLAIN_STEPS = frozenset(
    "alert alerts api event events hook hooks incoming notification notifications notify receive services "
    "v1 v2 v3 v4 webhook webhooks".split()
)
"""Path segments that are not secret; any other may be a token."""


@dataclass(frozen=True)
class Origin:
    """Where an address leads; ``port`` is the one of the scheme where none is written, -1 where it has none."""

    scheme: str
    host: str
    port: int


def origin_of(address: object) -> Origin | None:
    """Return the origin of a URL, None where it is ambiguous."""
    if not isinstance(address, str) or _DOUBTFUL.search(address):
        return None
    try:
        parts = urlsplit(address)
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if not parts.scheme or host is None:
        return None
    scheme = parts.scheme.lower()
    return Origin(scheme, host, _DEFAULT_PORTS.get(scheme, -1) if port is None else port)


def is_plain_step(step: str) -> bool:
    """Return whether a step of a path is no token."""
    return step in _PLAIN_STEPS


def masked_origin(address: object) -> Origin | None:
    """Return the origin of a URL that may contain masks; a mask never replaces a host or port."""
    return origin_of(address.replace(MASK, "x")) if isinstance(address, str) else None


def has_scheme(text: str) -> bool:
    """Return whether a text is written as a URL is."""
    return _WITH_SCHEME.match(text) is not None


def masked_url(address: str, *, with_path: bool) -> str:
    """Return a URL with masks for its user information, query and fragment, and ``with_path`` for tokens in its path.

    Masking it again changes nothing. One that cannot be taken apart becomes a mask as a whole.
    """
    if masked_origin(address) is None:
        return MASK
    parts = urlsplit(address)
    return _masked_address(parts, _masked_path(parts.path) if with_path else _without_parameters(parts.path))


def without_logins(text: str) -> str:
    """Return a text with masks for the user information of the URLs in it."""
    return _LOGIN.sub(MASK, text)


def kept_url(masked: str, stored: object, *, with_path: bool) -> str | None:
    """Return the URL that ``masked``, which contains masks, was made of; None if it is not ``stored``."""
    if not isinstance(stored, str):
        return None
    masked_stored = masked_url(stored, with_path=with_path)
    if masked == masked_stored or masked_origin(masked) is None:
        return stored if masked == masked_stored else None
    same = masked_origin(masked) == masked_origin(masked_stored) and _after_host(masked) == _after_host(masked_stored)
    return stored if same else None


def without_masks(address: str) -> str:
    """Return what may be shown of a masked URL to who must not learn what is hidden: up to the first mask."""
    before, at, after = address.partition(f"{MASK}@")
    return (before + after if at else address).partition(MASK)[0].rstrip("?#")


def _host(written: str) -> str | None:
    """Return a host in its one spelling: lower case, IDNA, without the dot at its end, IPv6 in short."""
    if ":" in written:
        return str(ipaddress.IPv6Address(written)) if "%" not in written else None
    name = written.removesuffix(".")
    if not name.isascii():
        import idna  # not needed by most

        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError:
            return None
    name = name.lower()
    return name if _HOST.fullmatch(name) else None


def _after_host(address: str) -> tuple[bool, str, str, str]:
    parts = urlsplit(address)
    return "@" in parts.netloc, parts.path, parts.query, parts.fragment


def _masked_address(parts: SplitResult, path: str) -> str:
    _, at, host = parts.netloc.rpartition("@")
    netloc = f"{MASK}@{host}" if at else host
    query, fragment = (f"?{MASK}" if parts.query else ""), (f"#{MASK}" if parts.fragment else "")
    return f"{parts.scheme}://{netloc}{path}{query}{fragment}"


def _without_parameters(path: str) -> str:
    """Return a path without the parameters that JDBC writes into it: ``/db;password=…``."""
    separator = re.search(r"[;=]", path)
    return path[: separator.start() + 1] + MASK if separator else path


def _masked_path(path: str) -> str:
    """Return a path up to the first step that may be a token, and a mask for the rest."""
    steps = path.split("/")
    for at, step in enumerate(steps):
        if step and step not in _PLAIN_STEPS:
            return "/".join([*steps[:at], MASK])
    return path

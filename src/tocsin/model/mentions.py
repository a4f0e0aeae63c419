"""Mentions of people and teams in Markdown messages, and the messages as plain text.

People and teams are mentioned as ``<#E::user::ann>``, as OpenMetadata's page writes it (``<#E::user::ann|[@ann](…)>``)
or as a plain Markdown link to their page, ``[@ann](https://…/users/ann)``. Next: ``model/thread.py``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from tocsin.errors import InvalidInput
from tocsin.model import fqn

_NAME = r"[^|>\s][^|>\n]{0,400}"
_LABEL = r"\[[^\]\n]{0,400}\]\([^)\s]{0,2000}\)"
_MENTION = re.compile(
    rf"<#E::(?P<kind>user|team)::(?P<name>{_NAME})(?:\|{_LABEL})?>"
    r"|\[@[^\]\n]{1,400}\]\([^)\s]{0,2000}?/(?P<page>users|teams)/(?P<slug>[^)\s/?#]{1,1200})\)"
)
_LINK = re.compile(rf"<#E::\w{{1,60}}::(?P<path>{_NAME})(?:\|{_LABEL})?>")
_MARKDOWN_LINK = re.compile(r"!?\[(?P<label>[^\]\n]{0,400})\]\([^)\n]{0,2000}\)")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>\n]{0,400}>")
_MARKS = re.compile(r"^\s{0,3}(?:#{1,6}|>|[-*+])\s+|\*\*|__|`+", re.MULTILINE)
_ENDS = frozenset("|>")
_NO_LABEL_END = dict.fromkeys(map(ord, "]\n"))
_KINDS = {"users": "user", "teams": "team"}


@dataclass(frozen=True)
class Mention:
    """A user or a team that a text names; ``name`` is as the text has it, without quotation marks."""

    kind: str
    name: str


def mentions_in(*texts: object) -> tuple[Mention, ...]:
    """Return the people and teams that the texts mention, each once, in their order; other values mention nobody."""
    matches = (match for text in texts if isinstance(text, str) for match in _MENTION.finditer(text))
    mentions = (Mention(match["kind"] or _KINDS[match["page"]], _name_of(match)) for match in matches)
    return tuple(dict.fromkeys(mentions))


def mention_of(user_fqn: str) -> str:
    """Return the mention of a user in a message.

    A name with a mark at which a mention would end is written as a link to their page: else another were mentioned.
    """
    if _ENDS.isdisjoint(user_fqn):
        return f"<#E::user::{user_fqn}>"
    return f"[@{user_fqn.translate(_NO_LABEL_END)}](/users/{quote(user_fqn, safe='')})"


def texts_of(document: dict[str, object]) -> Iterator[object]:
    """Yield what a person wrote into a thread itself: its message, its announcement, what its task suggests."""
    yield document.get("message")
    for part, key in (("announcement", "description"), ("task", "suggestion")):
        inner = document.get(part)
        if isinstance(inner, dict):
            yield inner.get(key)


def plain(text: object) -> str:
    """Return a message as people read it: ``@ann`` for a mention, a link's words for a link, no markup.

    Values other than texts say nothing.
    """
    if not isinstance(text, str):
        return ""
    words = _MENTION.sub(lambda match: f"@{_name_of(match)}", text)
    words = _LINK.sub(_name_of, words)
    words = _MARKDOWN_LINK.sub(lambda match: match["label"], words)
    words = _MARKUP.sub(" ", _MARKS.sub("", words))
    return " ".join(html.unescape(words).split())


def _name_of(match: re.Match[str]) -> str:
    """Return the name in a mention or link, without the quotation marks that its FQN needs."""
    groups = match.groupdict()
    if "path" in groups:
        name = groups["path"].rpartition("::")[2]
    else:
        name = groups["name"].strip() if groups["kind"] else unquote(groups["slug"])
    if not name.startswith('"'):
        return name
    try:
        parts = fqn.split(name)
    except InvalidInput:
        return name
    return parts[0] if len(parts) == 1 else name

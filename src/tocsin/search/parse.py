"""Query parser: words, "phrases", prefix*, field:value, AND, OR, NOT and brackets become a tree.

Adjacent words are combined with AND. What looks like a field and is none (``http://x``) is a word. Syntax errors are
reported with their position. Next: ``search/filters.py`` for the other language, ``docs/search.md`` for users.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, conjunction_of, disjunction_of, negation_of
from tocsin.search.fields import (
    FIELDS,
    WORD_COLUMNS,
    SearchField,
    equals,
    field_of,
    has_words,
    holds,
    is_field,
    resembles,
    unescape,
    whole_number,
)
from tocsin.search.nodes import CompareColumn, Node
from tocsin.search.tokens import words_of

LONGEST_QUERY = 4_000
MOST_TERMS = 100
DEEPEST_QUERY = 16

EXISTS_FIELD = "_exists_"
"""What stands before the name of a field that must hold something."""

ANYWHERE = SearchField("anything", words=WORD_COLUMNS)
"""What a word without a field is looked for in."""

_TOKEN = re.compile(
    r"""\s+ | (?P<open>\() | (?P<close>\)) | (?P<and>&&|AND(?![^\s()])) | (?P<or>\|\||OR(?![^\s()]))
    | (?P<not>NOT(?![^\s()])|!|-(?=[^\s)])) | (?P<plus>\+(?=[^\s)])) | (?P<phrase>"(?:[^"\\]|\\.)*")
    | (?P<field>[A-Za-z_][\w.]*:(?=\S|$)) | (?P<word>(?:[^\s()"\\]|\\.)+) | (?P<wrong>.)""",
    re.VERBOSE,
)
_UNSUPPORTED = re.compile(r"[~^][\d.]*$|^[\[{]")
_COMPARED = re.compile(r"(<=|>=|<|>)(.+)")


@dataclass(frozen=True)
class Query:
    """A parsed query.

    ``free`` are the words without a field in a query of nothing but such words and filters: the more similar an
    entry's name is to them, the higher it ranks. Empty when there is no ranking.
    """

    node: Node
    free: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


def parse(text: str, *, default: SearchField = ANYWHERE) -> Query:
    """Return the query of ``text``; an empty text and ``*`` match everything.

    Raises
    ------
    InvalidInput : the query cannot be read; the message says where and why.
    """
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"the query is longer than {LONGEST_QUERY} characters", field="q")
    if "\0" in text:
        raise InvalidInput(f"column {text.index(chr(0)) + 1}: a query cannot contain a NUL character", field="q")
    parser = _QueryParser(_tokens(text), default)
    node = parser.query() if parser.tokens else ALWAYS
    return Query(node, tuple(parser.free) if parser.is_ranked else ())


def default_fields(field_names: Sequence[str]) -> SearchField:
    """Return the field that combines all the named ones, which must be fields of words."""
    columns = [column for name in field_names for column in FIELDS.get(name.split("^")[0], ANYWHERE).words]
    return SearchField("anything", words=tuple(dict.fromkeys(columns)) or WORD_COLUMNS)


def _tokens(text: str) -> list[_Token]:
    matches = (match for match in _TOKEN.finditer(text) if match.lastgroup)
    tokens = [_Token(match.lastgroup or "", match.group(), match.start() + 1) for match in matches]
    for token in tokens:
        if token.kind == "wrong":
            _refuse(token, "the phrase has no closing quote" if token.text == '"' else "nothing follows the backslash")
    return tokens


def _refuse(token: _Token, why: str) -> NoReturn:
    raise InvalidInput(f"column {token.column}: {why}", field="q")


@dataclass
class _QueryParser:
    """Goes through the tokens once, left to right."""

    tokens: list[_Token]
    default: SearchField
    at: int = 0
    free: list[str] = field(default_factory=list)
    is_ranked: bool = True
    terms: int = 0
    depth: int = 0

    def query(self) -> Node:
        """Return the whole query."""
        node = self.either(None)
        if self.at < len(self.tokens):
            _refuse(self.tokens[self.at], "this bracket is not opened")
        return node

    def either(self, name: str | None) -> Node:
        """Return alternatives; ``name`` is the field they are all about, if one was named before the bracket."""
        parts = [self.both(name)]
        while self._next("or"):
            self.is_ranked = False
            parts.append(self.both(name))
        return disjunction_of(*parts)

    def both(self, name: str | None) -> Node:
        """Return what must all be true."""
        parts = [self.part(name)]
        while self.at < len(self.tokens) and self.tokens[self.at].kind not in ("or", "close"):
            self._next("and")
            parts.append(self.part(name))
        return conjunction_of(*parts)

    def part(self, name: str | None) -> Node:
        """Return one term, one bracket, or the opposite of either."""
        self._next("plus")
        negations, before = 0, len(self.free)
        while self._next("not"):
            negations += 1
            self._next("plus")
        operand = self._operand(name)
        if negations:
            del self.free[before:]
        return negation_of(operand) if negations % 2 else operand

    def _operand(self, name: str | None) -> Node:
        if self.at >= len(self.tokens):
            last = self.tokens[-1]
            raise InvalidInput(f"column {last.column + len(last.text)}: unexpected end of the query", field="q")
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "open":
            return self._bracket(token, name)
        if token.kind == "field" and _is_field(token.text[:-1]):
            return self._parse_field(token)
        if token.kind in ("close", "and", "or"):
            _refuse(token, f"unexpected {token.text!r}; expected a word")
        return self._term(self._join_word(token), name)

    def _parse_field(self, token: _Token) -> Node:
        name = token.text[:-1]
        if self.at >= len(self.tokens):
            _refuse(token, f"a value must follow {token.text}")
        following = self.tokens[self.at]
        self.at += 1
        if following.kind == "open":
            return self._bracket(following, name)
        if following.kind == "close":
            _refuse(following, f"a value must follow {token.text}")
        return self._term(self._join_word(following), name)

    def _join_word(self, token: _Token) -> _Token:
        """Return a word or value with what the lexer cut off its beginning: ``-``, ``+``, ``!``, ``a:``."""
        text = token.text
        end = token.column + len(text)
        while token.kind != "phrase" and self.at < len(self.tokens):
            following = self.tokens[self.at]
            if following.column != end or following.kind in ("open", "close", "phrase"):
                break
            text, end = text + following.text, end + len(following.text)
            self.at += 1
        return _Token("phrase" if token.kind == "phrase" else "word", text, token.column)

    def _bracket(self, token: _Token, name: str | None) -> Node:
        self.depth += 1
        if self.depth > DEEPEST_QUERY:
            _refuse(token, f"brackets are nested deeper than {DEEPEST_QUERY} levels")
        node = self.either(name)
        if not self._next("close"):
            _refuse(token, "this bracket is not closed")
        self.depth -= 1
        return node

    def _term(self, token: _Token, name: str | None) -> Node:
        self.terms += 1
        if self.terms > MOST_TERMS:
            _refuse(token, f"a query may contain at most {MOST_TERMS} words and values")
        is_phrase = token.kind == "phrase"
        text = token.text[1:-1] if is_phrase else token.text
        if not is_phrase and _UNSUPPORTED.search(text):
            _refuse(token, "fuzzy words (~), boosts (^) and ranges in brackets are not supported")
        try:
            if name is None:
                return self._free(text, is_phrase=is_phrase)
            return _about(name, text, is_phrase=is_phrase)
        except InvalidInput as error:
            _refuse(token, error.message)

    def _free(self, text: str, *, is_phrase: bool) -> Node:
        bare = text if is_phrase else text.strip("*")
        if not is_phrase and "*" in unescaped_stars(bare):
            raise InvalidInput(
                "a star is allowed at the end of a word; within a word only after fullyQualifiedName: or name:"
            )
        words = words_of(unescape(bare))
        if not words:
            if is_phrase or (len(self.tokens) == 1 and "*" not in text):
                raise InvalidInput(f"{text[:100]!r} contains no letter or digit")
            return ALWAYS
        self.free.append(unescape(bare))
        return has_words(self.default, bare, is_prefix=not is_phrase and text.endswith("*"))

    def _next(self, kind: str) -> bool:
        """Step over the next token if it is of this kind."""
        if self.at < len(self.tokens) and self.tokens[self.at].kind == kind:
            self.at += 1
            return True
        return False


def _is_field(name: str) -> bool:
    return name == EXISTS_FIELD or is_field(name)


def unescaped_stars(text: str) -> str:
    """Return the text without what a backslash protects."""
    return re.sub(r"\\.", "", text)


def _about(name: str, text: str, *, is_phrase: bool) -> Node:
    """Return what ``name:text`` asks for."""
    if name == EXISTS_FIELD:
        return holds(text)
    search_field = field_of(name)
    if search_field.column == "updated_at_ms" and (compared := _COMPARED.fullmatch(text)):
        return CompareColumn(search_field.column, compared[1], whole_number(compared[2]))  # type: ignore[arg-type]  # as matched
    is_whole = name.endswith(".keyword") or not search_field.words
    if is_phrase:
        return equals(name, unescape(text)) if is_whole else has_words(search_field, unescape(text))
    if is_whole or "*" in unescaped_stars(text.rstrip("*")):
        return resembles(name, text)
    if set(text) == {"*"}:
        return holds(name)
    return has_words(search_field, unescape(text.rstrip("*")), is_prefix=text.endswith("*"))

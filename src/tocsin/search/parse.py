"""Query parser: words, "phrases", prefix*, field:value, AND, OR, NOT and brackets become a formula.

The grammar is ``grammar.lark`` (LALR). Syntax errors are reported with their position. Next: ``search/filters.py`` for
the other language, ``docs/search.md`` for users.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from lark import Lark, Token, Tree, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, Constant, Formula, conjunction_of, disjunction_of, negation_of
from tocsin.search.fields import (
    FIELDS,
    WORD_COLUMNS,
    SearchField,
    equals,
    field_of,
    has_words,
    holds,
    resembles,
    unescape,
    whole_number,
    without_escapes,
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

_PARTS = re.compile(r'(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*')
"""What a query consists of: signs, protected signs and phrases."""
_Branch = Tree[Any]  # Any: tokens or branches, as the grammar says
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


def parse(text: str, *, default: SearchField = ANYWHERE) -> Query:
    """Return the query of ``text``; an empty text and ``*`` match everything.

    Raises
    ------
    InvalidInput : the query cannot be read; the message says where and why.
    """
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"the query is longer than {LONGEST_QUERY} characters", field="q")
    if "\0" in text:
        _refuse(text.index("\0"), "a query cannot contain a NUL character")
    if not text.strip():
        return Query(ALWAYS)
    builder = _FormulaBuilder(text, default)
    node = builder.either(_read(text), None)
    return Query(node, tuple(builder.free) if builder.is_ranked else ())


@dataclass(frozen=True, slots=True)
class Term(Formula["Term"]):
    """One word or value of a query as it is written, with the field that it is of; None for a word of any field."""

    field: str | None
    text: str
    is_phrase: bool = False


def parse_terms(text: str) -> Formula[Term]:
    """Return the formula of a query's terms, to look for them elsewhere than in the index. Raises as ``parse``."""
    parse(text)
    if not text.strip():
        return ALWAYS
    return _TermBuilder(text, ANYWHERE).either(_read(text), None)  # type: ignore[return-value]  # of terms


def default_fields(field_names: Sequence[str]) -> SearchField:
    """Return the field that combines all the named ones, which must be fields of words."""
    columns = [column for name in field_names for column in FIELDS.get(name.split("^")[0], ANYWHERE).words]
    return SearchField("anything", words=tuple(dict.fromkeys(columns)) or WORD_COLUMNS)


@cache
def _parser() -> Lark:
    grammar = files("tocsin.search").joinpath("grammar.lark").read_text(encoding="utf-8")
    field_names = "|".join(re.escape(name) for name in FIELDS)
    return Lark(grammar.replace("FIELD_NAMES", field_names), parser="lalr", start="either")


def _read(text: str) -> _Branch:
    """Return the tree of a text; of several errors, a quote that is not closed is reported first."""
    parts = _PARTS.match(text)
    if parts and parts.end() < len(text):
        is_quote = text[parts.end()] == '"'
        _refuse(parts.end(), "the phrase has no closing quote" if is_quote else "nothing follows the backslash")
    try:
        return _parser().parse(text)
    except UnexpectedToken as error:
        _refuse_token(error.token, error.interactive_parser)


def _refuse_token(token: Token, parser: InteractiveParser) -> NoReturn:
    """Raise the error of a token that the grammar does not allow after what ``parser`` has read."""
    is_end = token.type == "$END"
    stack, accepted_tokens = parser.parser_state.value_stack, parser.accepts()  # type: ignore[no-untyped-call]  # lark's own
    if "VALUE" in accepted_tokens:
        _refuse(_place(stack[-1] if is_end else token), f"a value must follow {stack[-1]}")
    if is_end and "_CLOSE" in accepted_tokens:
        _refuse(_place(stack[-2]), "this bracket is not closed")
    if is_end:
        _refuse(token.end_pos or 0, "unexpected end of the query")
    if not accepted_tokens:
        _refuse(_place(token), "this bracket is not opened")
    _refuse(_place(token), f"unexpected {str(token)!r}; expected a word")


def _place(token: Token) -> int:
    return token.start_pos or 0


def _refuse(at: int, why: str) -> NoReturn:
    raise InvalidInput(f"column {at + 1}: {why}", field="q")


@dataclass
class _FormulaBuilder:
    """Builds the formula of one tree, left to right; collects the words without a field."""

    query: str
    default: SearchField
    free: list[str] = field(default_factory=list)
    is_ranked: bool = True
    terms: int = 0
    depth: int = 0

    def either(self, tree: _Branch, name: str | None) -> Node:
        """Return alternatives; ``name`` is the field they are all about, if one was named before the bracket."""
        self.is_ranked &= len(tree.children) == 1
        return disjunction_of(*(self._conjunction(both, name) for both in tree.children))

    def _conjunction(self, tree: _Branch, name: str | None) -> Node:
        return conjunction_of(*(self._part(part, name) for part in tree.children))

    def _part(self, tree: _Branch, name: str | None) -> Node:
        *negations, operand = tree.children
        before = len(self.free)
        node = self._operand(operand, name)
        if negations:
            del self.free[before:]
        return negation_of(node) if len(negations) % 2 else node

    def _operand(self, operand: _Branch | Token, name: str | None) -> Node:
        """Return one term or one bracket; with a field before it, a condition on that field."""
        if isinstance(operand, Token):
            return self._term(operand, name)
        if operand.data == "about":
            field_token, value = operand.children
            return self._operand(value, str(field_token)[:-1])
        opening, alternatives = operand.children
        return self._bracket(opening, alternatives, name)  # type: ignore[arg-type]  # a token, as the grammar says

    def _bracket(self, opening: Token, alternatives: _Branch, name: str | None) -> Node:
        self.depth += 1
        if self.depth > DEEPEST_QUERY:
            _refuse(_place(opening), f"brackets are nested deeper than {DEEPEST_QUERY} levels")
        node = self.either(alternatives, name)
        self.depth -= 1
        return node

    def _term(self, token: Token, name: str | None) -> Node:
        self.terms += 1
        if self.terms > MOST_TERMS:
            _refuse(_place(token), f"a query may contain at most {MOST_TERMS} words and values")
        is_phrase = token.type == "PHRASE"
        text = str(token[1:-1] if is_phrase else token)
        if not is_phrase and _UNSUPPORTED.search(text):
            _refuse(_place(token), "fuzzy words (~), boosts (^) and ranges in brackets are not supported")
        try:
            if name is None:
                return self._free(token, text, is_phrase=is_phrase)
            return _about(name, text, is_phrase=is_phrase)
        except InvalidInput as error:
            _refuse(_place(token), error.message)

    def _free(self, token: Token, text: str, *, is_phrase: bool) -> Node:
        bare = text if is_phrase else text.strip("*")
        if not is_phrase and "*" in without_escapes(bare):
            raise InvalidInput(
                "a star is allowed at the end of a word; within a word only after fullyQualifiedName: or name:"
            )
        words = words_of(unescape(bare))
        if not words:
            is_alone = not self.query[: token.start_pos].strip() and not self.query[token.end_pos :].strip()
            if is_phrase or (is_alone and "*" not in text):
                raise InvalidInput(f"{text[:100]!r} contains no letter or digit")
            return ALWAYS
        self.free.append(unescape(bare))
        return has_words(self.default, bare, is_prefix=not is_phrase and text.endswith("*"))


class _TermBuilder(_FormulaBuilder):
    """Builds the formula of terms; what matches everything stays that."""

    def _term(self, token: Token, name: str | None) -> Node:
        node = super()._term(token, name)
        text = str(token[1:-1] if token.type == "PHRASE" else token)
        is_of_all = isinstance(node, Constant)
        return node if is_of_all else Term(name, text, token.type == "PHRASE")  # type: ignore[return-value]  # as above


def _about(name: str, text: str, *, is_phrase: bool) -> Node:
    """Return what ``name:text`` asks for."""
    if name == EXISTS_FIELD:
        return holds(text)
    search_field = field_of(name)
    if search_field.column == "updated_at_ms" and (comparison_match := _COMPARED.fullmatch(text)):
        return CompareColumn(search_field.column, comparison_match[1], whole_number(comparison_match[2]))  # type: ignore[arg-type]  # as matched
    is_whole = name.endswith(".keyword") or not search_field.words
    if is_phrase:
        return equals(name, unescape(text)) if is_whole else has_words(search_field, unescape(text))
    if is_whole or "*" in without_escapes(text.rstrip("*")):
        return resembles(name, text)
    if set(text) == {"*"}:
        return holds(name)
    return has_words(search_field, unescape(text.rstrip("*")), is_prefix=text.endswith("*"))

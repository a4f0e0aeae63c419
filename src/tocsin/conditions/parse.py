"""Parser of conditions: text to the syntax tree of ``syntax.py``, without semantic checks.

The grammar is ``grammar.lark`` (LALR). Next: ``conditions/check.py``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from math import isfinite

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken, v_args
from lark.exceptions import UnexpectedCharacters, VisitError

from tocsin.conditions import syntax
from tocsin.conditions.errors import refusal
from tocsin.conditions.syntax import Position, Written
from tocsin.errors import InvalidCondition

MAX_BYTES = 4096
MAX_DEPTH = 32
MAX_INDEX = 2**31 - 1
"""Largest position in a list that Spark reads in a path."""

_SPELT = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_CONSTANTS = {"true": True, "false": False, "null": None}
_FRIENDLY = {
    "$END": "the end",
    "NAME": "a field or function",
    "TEXT": "text in quotes",
    "NUMBER": "a number",
    "BANG": "!",
    "NOT": "!",
    "TRUE": "true",
    "FALSE": "false",
    "NULL": "null",
    "_AND": "&&",
    "_OR": "||",
    "DOT": ".",
    "COMMA": ",",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "LSQB": "[",
    "RSQB": "]",
    "IN": "in",
    "MATCHES": "matches",
}
_COMPARISON = "a comparison"


def parse(text: str) -> Written:
    """Return the tree of ``text``.

    Raises
    ------
    InvalidCondition : the text is empty, too long, too deep or not of the grammar; says where and what was expected.
    """
    if not text.strip():
        raise InvalidCondition("The condition is empty", expected=("a condition",))
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InvalidCondition(f"The condition is longer than {MAX_BYTES} bytes")
    if unstorable := _UNSTORABLE.search(text):
        above = text[: unstorable.start()].split("\n")
        place = Position(len(above), len(above[-1]) + 1)
        name = f"U+{ord(unstorable[0]):04X}"
        raise refusal(f"text cannot contain the character {name}", place, expected=("another character",))
    try:
        tree: Written = _parser().parse(text)  # type: ignore[assignment]  # the transformer returns our own nodes
    except UnexpectedInput as error:
        raise _refusal(error, text) from None
    except VisitError as error:
        raise error.orig_exc from None
    if syntax.depth(tree) > MAX_DEPTH:
        raise InvalidCondition(f"The condition is nested more than {MAX_DEPTH} levels deep")
    return tree


def place_of(token: Token) -> Position:
    """Return the position of ``token``."""
    return Position(token.line or 1, token.column or 1)


@cache
def _parser() -> Lark:
    grammar = files("tocsin.conditions").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=False)


_MEANT = {"=": "==", "&": "&&", "|": "||"}
"""Signs that other languages write once, and what they are here."""

_CURLED = frozenset("‘’‚‛“”„‟`´«»‹›")  # noqa: RUF001  # what word processors make of quotes, and Markdown's
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BARE = re.compile(r"[\w.]+")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that the store, or Spark, has no texts with: NUL and halves of surrogate pairs."""
_UNCLOSED = "the text has no closing quote"


def _refusal(error: UnexpectedInput, text: str) -> InvalidCondition:
    """Return the message of ``error`` for the author of the condition."""
    line, column, problem = _find_error(error, text)
    expected = ("a closing quote",) if problem == _UNCLOSED else _expected_tokens(error)
    for sign, correct_sign in _MEANT.items():
        if problem == f"unexpected {sign!r}":
            return refusal(problem, Position(line, column), expected=(correct_sign,), suggestion=correct_sign)
    explanation = _clearer_error(error, text, expected) or (f"; expected {', '.join(expected)}" if expected else "")
    return refusal(f"{problem}{explanation}", Position(line, column), expected=expected)


def _clearer_error(error: UnexpectedInput, text: str, expected: tuple[str, ...]) -> str | None:
    """Return a more helpful message than the list of expected tokens, if there is one."""
    at = error.pos_in_stream if error.pos_in_stream is not None else len(text)
    if text[at : at + 1] in _CURLED:
        return "; put text in ' or \""
    if any(found.start() < at < found.end() for found in _DATE.finditer(text)):
        return "; write times as epoch milliseconds: 1767225600000 is 2026-01-01"
    bare = _BARE.match(text, at)
    if bare and not bare[0][0].isdigit() and _FRIENDLY["TEXT"] in expected and _FRIENDLY["NAME"] not in expected:
        return f"; put text in quotes: '{bare[0]}'"
    return None


def _find_error(error: UnexpectedInput, text: str) -> tuple[int, int, str]:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        lines = text.rstrip().split("\n")
        return len(lines), len(lines[-1]) + 1, "unexpected end of the condition"
    if isinstance(error, UnexpectedCharacters) and text[error.pos_in_stream or 0] in "'\"":
        return error.line, error.column, _UNCLOSED
    token = error.token if isinstance(error, UnexpectedToken) else text[error.pos_in_stream or 0]
    return error.line, error.column, f"unexpected {str(token)!r}"


def _expected_tokens(error: UnexpectedInput) -> tuple[str, ...]:
    """Return the expected tokens in the words of the language; all comparison operators as one."""
    if isinstance(error, UnexpectedToken):
        parser = error.interactive_parser
        names = parser.accepts() if parser else set(error.expected)  # type: ignore[no-untyped-call]  # lark's own
    else:
        names = set(getattr(error, "allowed", None) or ())
    return tuple(sorted({_FRIENDLY.get(name, _COMPARISON) for name in names if name != "WS"}))


@v_args(inline=True)
class _Builder(Transformer[Token, Written]):
    """Builds the tree while the text is parsed, bottom up."""

    def either(self, *operands: Written) -> Written:
        return syntax.Junction("or", operands, operands[0].at)

    def both(self, *operands: Written) -> Written:
        return syntax.Junction("and", operands, operands[0].at)

    def comparison(self, left: Written, operator: str, right: Written) -> Written:
        return syntax.Comparison(operator, left, right, left.at)

    def operator(self, token: Token) -> str:
        return _SPELT.get(token, str(token))

    def not_sign(self, token: Token) -> Token:
        return token

    def negation_of(self, token: Token, operand: Written) -> Written:
        return syntax.Negation(operand, place_of(token))

    def step(self, target: Written, name: Token) -> Written:
        return syntax.PathStep(target, str(name), place_of(name))

    def index_step(self, target: Written, key: Token) -> Written:
        if key.type == "TEXT":
            return syntax.PathStep(target, _text_of(key), place_of(key))
        if not key.isdigit() or int(key) > MAX_INDEX:
            raise refusal(f"an index must be an integer from 0 to {MAX_INDEX}", place_of(key), expected=("an integer",))
        return syntax.PathStep(target, int(key), place_of(key))

    def index(self, key: Token) -> Token:
        return key

    def method(self, target: Written, name: Token, arguments: tuple[Written, ...]) -> Written:
        return syntax.Method(target, str(name), arguments, place_of(name))

    def name(self, name: Token) -> Written:
        return syntax.Name(str(name), place_of(name))

    def call(self, name: Token, arguments: tuple[Written, ...]) -> Written:
        return syntax.Call(str(name), arguments, place_of(name))

    def arguments(self, *written_arguments: Written) -> tuple[Written, ...]:
        return written_arguments

    def listing(self, bracket: Token, *words: syntax.Word) -> Written:
        return syntax.LiteralList(words, place_of(bracket))

    def text(self, token: Token) -> Written:
        return syntax.Word(_text_of(token), place_of(token))

    def number(self, token: Token) -> Written:
        if not isfinite(float(token)):
            raise refusal("the number is too large", place_of(token))
        return syntax.Word(float(token), place_of(token))

    def constant(self, token: Token) -> Written:
        return syntax.Word(_CONSTANTS[token], place_of(token))


def _text_of(token: Token) -> str:
    """Return the text between the quotes; a doubled quote means one, a backslash itself."""
    quote = token[0]
    return str(token[1:-1]).replace(quote * 2, quote)

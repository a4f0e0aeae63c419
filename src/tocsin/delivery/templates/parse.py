"""Parser of notification templates: Handlebars, as far as notifications need it, to the tree of ``syntax.py``.

Partials, inline partials, decorators and raw blocks are refused: a template cannot call itself or another. So are
unknown functions, with the nearest that there is. Source: handlebarsjs.com, "Language Guide".
Next: ``delivery/templates/render.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tocsin.delivery.templates.functions import FUNCTIONS
from tocsin.delivery.templates.scan import Scanner, Tag, TagToken
from tocsin.delivery.templates.syntax import (
    Block,
    Expression,
    Literal,
    Node,
    Output,
    Path,
    TemplateCall,
    TemplatePosition,
    Text,
    template_error,
)
from tocsin.errors import InvalidTemplate
from tocsin.model.phrases import suggestion_for

LONGEST = 65_536
"""Most characters of a template."""

MAX_DEPTH = 32
"""How deep blocks and calls may be nested."""

MAX_LINKS = 96
"""How many ``{{else if}}`` may be open in all."""

BLOCKS = ("if", "unless", "each", "with")
SECTION = "section"
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}
_NAMES_LIMIT = 2
_BRACKET = "\\]"
_STEP = re.compile(r"\[(?P<literal>(?:\\\]|[^\]])*)\]|(?P<name>[^./]+)")


@lru_cache(maxsize=512)
def parse(text: str) -> tuple[Node, ...]:
    """Return the tree of ``text``.

    Raises
    ------
    InvalidTemplate : the text is too long, nested too deep or no template; says where and why
    """
    if len(text) > LONGEST:
        raise InvalidTemplate(f"The template is longer than {LONGEST:,} characters")
    return _TemplateParser().parse(text)


@dataclass
class _Open:
    """A block that has begun; ``links`` counts the blocks that end with it, as ``{{else if}}`` chains them."""

    tag: Tag
    head: TagToken
    block: Block
    body: list[Node] = field(default_factory=list)
    otherwise: list[Node] | None = None
    is_link: bool = False
    is_inverse: bool = False

    @property
    def into(self) -> list[Node]:
        return self.body if self.otherwise is None else self.otherwise

    def build(self) -> Block:
        first, second = tuple(self.body), tuple(self.otherwise or ())
        body, otherwise = (second, first) if self.is_inverse else (first, second)
        return replace(self.block, body=body, otherwise=otherwise)


class _TemplateParser:
    """Parses one template, with a stack of the blocks that are open."""

    def __init__(self) -> None:
        self._root: list[Node] = []
        self._open: list[_Open] = []

    def parse(self, text: str) -> tuple[Node, ...]:
        for part in Scanner(text).parts():
            if isinstance(part, Tag):
                self._take(replace(part, words=_with_name(part.words)))
            elif part:
                self._open_body().append(Text(part))
        if self._open:
            first = self._open[-1]
            raise template_error(f"this block has no end; write {{{{/{first.head.text}}}}}", first.tag.at)
        return tuple(self._root)

    def _open_body(self) -> list[Node]:
        return self._open[-1].into if self._open else self._root

    def _take(self, tag: Tag) -> None:
        if tag.sign in ("", "&") and not tag.words:
            raise template_error("this tag is empty", tag.at)
        match tag.sign:
            case "#":
                self._push(tag, tag.words)
            case "/":
                self._end(tag)
            case "^" if not tag.words:
                self._turn(tag, ())
            case "^":
                self._push(tag, tag.words, is_inverse=True)
            case ">" | "*":
                raise template_error(
                    "partials and decorators are not supported; write their text into the template", tag.at
                )
            case _ if tag.words[0].text == "else" and tag.words[0].kind == "path":
                self._turn(tag, tag.words[1:])
            case _:
                self._open_body().append(Output(_expression_of(tag.words, tag.at), tag.at))

    def _push(self, tag: Tag, words: Sequence[TagToken], *, is_inverse: bool = False, is_link: bool = False) -> None:
        links = sum(one.is_link for one in self._open)
        if len(self._open) - links >= MAX_DEPTH:
            raise template_error(f"blocks are nested more than {MAX_DEPTH} levels deep", tag.at)
        if links >= MAX_LINKS:
            raise template_error(f"more than {MAX_LINKS} {{{{else if}}}} are open", tag.at)
        if not words or words[0].kind not in ("path", "open"):
            raise template_error("a block begins with a name, such as {{#if …}}", tag.at)
        block = _block_of(words, tag.at)
        self._open.append(_Open(tag, words[0], block, is_link=is_link, is_inverse=is_inverse))

    def _turn(self, tag: Tag, words: Sequence[TagToken]) -> None:
        """Go on with what is written otherwise; ``{{else if …}}`` begins a block there."""
        if not self._open:
            raise template_error("{{else}} outside of a block", tag.at)
        block = self._open[-1]
        if block.otherwise is not None:
            raise template_error("this block has two {{else}}", tag.at)
        block.otherwise = []
        if words:
            self._push(tag, words, is_link=True)

    def _end(self, tag: Tag) -> None:
        name = tag.words[0].text if tag.words else ""
        while self._open and self._open[-1].is_link:
            self._close()
        if not self._open:
            raise template_error(f"{{{{/{name}}}}} ends no block", tag.at)
        expected = self._open[-1].head.text
        if not tag.words or _ending_of(tag.words[0]) != _ending_of(self._open[-1].head):
            raise template_error(f"{{{{/{name}}}}} ends a block that begins with {{{{#{expected}}}}}", tag.at)
        self._close()

    def _close(self) -> None:
        block = self._open.pop().build()
        self._open_body().append(block)


def _block_of(words: Sequence[TagToken], at: TemplatePosition) -> Block:
    words, names = _without_names(words, at)
    name = _name_of(words[0]) if words[0].kind == "path" else None
    if name in BLOCKS:
        reader = _Words(words[1:], at)
        arguments, named_arguments = reader.arguments()
        if len(arguments) != 1:
            raise template_error(f"{{{{#{name}}}}} takes one value, not {len(arguments)}", at)
        return Block(name, arguments[0], at, names=names, keywords=named_arguments)
    if name in FUNCTIONS:
        message = f"{name} begins no block; write {{{{#if ({name} …)}}}} or {{{{#with ({name} …)}}}}"
        raise template_error(message, at)
    if name is not None and len(words) > 1:
        raise template_error(f"unknown block {name!r}; {suggestion_for(name, BLOCKS)}", at)
    return Block(SECTION, _expression_of(words, at), at, names=names)


def _with_name(words: tuple[TagToken, ...]) -> tuple[TagToken, ...]:
    """Return the words of a tag; a literal at their head is a name: ``{{"first name"}}``, ``{{12}}``."""
    if not words:
        return words
    head = words[0]
    if head.kind == "text":
        name = _unquote(head.text)
    elif head.kind == "number" or (head.kind == "path" and head.text in _CONSTANTS):
        name = head.text
    else:
        return words
    return (TagToken("path", f"[{name.replace(']', _BRACKET)}]", head.at), *words[1:])


def _ending_of(head: TagToken) -> tuple[str, ...]:
    """Return what the end of a block repeats of its head, however it is written."""
    if head.kind != "path":
        return (head.text,)
    path = path_of(head)
    return ("@" * path.is_private, *[".."] * path.up, *path.steps)


def _name_of(head: TagToken) -> str:
    """Return the function or block that the head of a tag names; its text where it can name none."""
    return path_of(head).name or head.text if head.kind == "path" else head.text


def _unquote(text: str) -> str:
    quote = text[0]
    return text[1:-1].replace(f"\\{quote}", quote)


def _without_names(words: Sequence[TagToken], at: TemplatePosition) -> tuple[Sequence[TagToken], tuple[str, ...]]:
    """Split off the block parameters: ``as |one index|``."""
    bars = [index for index, word in enumerate(words) if word.kind == "bar"]
    if not bars:
        return words, ()
    first = bars[0]
    names = tuple(word.text for word in words[first + 1 : -1])
    is_whole = len(bars) == 2 and bars[1] == len(words) - 1 and first > 1 and words[first - 1].text == "as"
    if not is_whole or not 0 < len(names) <= _NAMES_LIMIT:
        raise template_error("block parameters are written as |one| or as |one index|, at the end", at)
    return words[: first - 1], names


def _expression_of(words: Sequence[TagToken], at: TemplatePosition) -> Expression:
    """Return the expression of a whole tag: a value, or a call without parentheses."""
    reader = _Words(words, at)
    if words[0].kind == "path" and (len(words) > 1 or _name_of(words[0]) in FUNCTIONS):
        return reader.call()
    value = reader.value()
    reader.check_end()
    return value


class _Words:
    """Reads the words of a tag, from the first to the last."""

    def __init__(self, words: Sequence[TagToken], at: TemplatePosition) -> None:
        self._words, self._at, self._next, self._depth = words, at, 0, 0

    def check_end(self) -> None:
        if word := self._peek():
            raise template_error(f"unexpected {word.text!r}", word.at)

    def call(self) -> TemplateCall:
        """Read a function and all arguments that follow."""
        head = self._take()
        name = _name_of(head)
        if name not in FUNCTIONS:
            raise template_error(f"unknown helper {name!r}; {suggestion_for(name, sorted(FUNCTIONS))}", head.at)
        arguments, named_arguments = self.arguments()
        return TemplateCall(name, head.at, arguments, named_arguments)

    def arguments(self) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        """Read arguments up to the end or the parenthesis that closes."""
        arguments: list[Expression] = []
        named_arguments: list[tuple[str, Expression]] = []
        while (word := self._peek()) and word.kind != "close":
            if word.kind == "named":
                self._take()
                named_arguments.append((word.text, self.value()))
            else:
                arguments.append(self.value())
        if self._depth == 0:
            self.check_end()
        return tuple(arguments), tuple(named_arguments)

    def value(self) -> Expression:
        word = self._take()
        match word.kind:
            case "text":
                return Literal(_unquote(word.text))
            case "number":
                return Literal(float(word.text) if "." in word.text else int(word.text[:20]))
            case "path" if word.text in _CONSTANTS:
                return Literal(_CONSTANTS[word.text])
            case "path":
                return path_of(word)
            case "open":
                return self._nested_call(word)
            case _:
                raise template_error(f"unexpected {word.text!r}", word.at)

    def _nested_call(self, opened: TagToken) -> TemplateCall:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise template_error(f"calls are nested more than {MAX_DEPTH} levels deep", opened.at)
        inner = self._peek()
        if inner is None or inner.kind != "path":
            raise template_error("a function belongs here: (eq name 'tags')", opened.at)
        call = self.call()
        closing = self._peek()
        if closing is None:
            raise template_error("this parenthesis is not closed", opened.at)
        self._take()
        self._depth -= 1
        return call

    def _peek(self) -> TagToken | None:
        return self._words[self._next] if self._next < len(self._words) else None

    def _take(self) -> TagToken:
        word = self._peek()
        if word is None:
            raise template_error("a value is missing", self._at)
        self._next += 1
        return word


def path_of(word: TagToken) -> Path:
    """Return the path that a word spells: ``../entity.[first name]``, ``@root.event``.

    Raises
    ------
    InvalidTemplate : ``this`` stands within it
    """
    text, up = word.text, 0
    is_private = text.startswith("@")
    text = text[1:] if is_private else text
    while text.startswith("../") or text == "..":
        text, up = text[3:], up + 1
    is_scoped = up > 0 or text.startswith(".")
    text = text.removeprefix("./")
    steps = list(_STEP.finditer(text))
    if steps and steps[0]["name"] == "this" and not is_private:
        steps, is_scoped = steps[1:], True
    if any(step["name"] == "this" for step in steps):
        raise template_error("this begins a path; write [this] for a key of that name", word.at)
    return Path(tuple(_key_of(step) for step in steps), word.at, up, is_private, is_scoped)


def _key_of(step: re.Match[str]) -> str:
    literal = step["literal"]
    return step["name"] if literal is None else literal.replace(_BRACKET, "]")

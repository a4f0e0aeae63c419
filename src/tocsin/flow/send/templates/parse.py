"""Parser of notification templates: Handlebars, as far as notifications need it, to the tree of ``syntax.py``.

Partials, inline partials, decorators and raw blocks are refused: a template cannot call itself or another. So are
unknown functions, with the nearest that there is. Source: handlebarsjs.com, "Language Guide".
Next: ``flow/send/templates/render.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tocsin.errors import InvalidTemplate
from tocsin.flow.send.templates.functions import FUNCTIONS
from tocsin.flow.send.templates.scan import Scanner, Tag, TagToken
from tocsin.flow.send.templates.syntax import (
    Block,
    Expression,
    Literal,
    Node,
    Output,
    Path,
    TemplateCall,
    TemplatePosition,
    Text,
    refused,
)
from tocsin.model.phrases import meant

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


@lru_cache(maxsize=512)
def parse(text: str) -> tuple[Node, ...]:
    """Return the tree of ``text``.

    Raises
    ------
    InvalidTemplate : the text is too long, nested too deep or no template; says where and why
    """
    if len(text) > LONGEST:
        raise InvalidTemplate(f"The template is longer than {LONGEST:,} characters")
    return _Parser().parsed(text)


@dataclass
class _Open:
    """A block that has begun; ``links`` counts the blocks that end with it, as ``{{else if}}`` chains them."""

    tag: Tag
    block: Block
    body: list[Node] = field(default_factory=list)
    otherwise: list[Node] | None = None
    closes_with: str = ""
    is_link: bool = False
    is_inverse: bool = False

    @property
    def into(self) -> list[Node]:
        return self.body if self.otherwise is None else self.otherwise

    def closed(self) -> Block:
        first, second = tuple(self.body), tuple(self.otherwise or ())
        body, otherwise = (second, first) if self.is_inverse else (first, second)
        block = self.block
        return Block(block.kind, block.value, block.at, body, otherwise, block.names, block.named)


class _Parser:
    """Parses one template, with a stack of the blocks that are open."""

    def __init__(self) -> None:
        self._root: list[Node] = []
        self._open: list[_Open] = []

    def parsed(self, text: str) -> tuple[Node, ...]:
        for part in Scanner(text).parts():
            if isinstance(part, Tag):
                self._take(part)
            elif part:
                self._into().append(Text(part))
        if self._open:
            first = self._open[-1]
            raise refused(f"this block has no end; write {{{{/{first.closes_with}}}}}", first.tag.at)
        return tuple(self._root)

    def _into(self) -> list[Node]:
        return self._open[-1].into if self._open else self._root

    def _take(self, tag: Tag) -> None:
        if tag.sign in ("", "&") and not tag.words:
            raise refused("this tag is empty", tag.at)
        match tag.sign:
            case "#":
                self._begin(tag)
            case "/":
                self._end(tag)
            case "^" if not tag.words:
                self._turn(tag, ())
            case "^":
                self._begin(tag, is_inverse=True)
            case ">" | "*":
                raise refused("partials and decorators are not supported; write their text into the template", tag.at)
            case _ if tag.words[0].text == "else" and tag.words[0].kind == "path":
                self._turn(tag, tag.words[1:])
            case _:
                self._into().append(Output(_expression_of(tag.words, tag.at), tag.at))

    def _begin(self, tag: Tag, *, is_inverse: bool = False) -> None:
        self._push(tag, tag.words, is_inverse=is_inverse)

    def _push(self, tag: Tag, words: Sequence[TagToken], *, is_inverse: bool = False, is_link: bool = False) -> None:
        links = sum(one.is_link for one in self._open)
        if len(self._open) - links >= MAX_DEPTH:
            raise refused(f"blocks are nested more than {MAX_DEPTH} levels deep", tag.at)
        if links >= MAX_LINKS:
            raise refused(f"more than {MAX_LINKS} {{{{else if}}}} are open", tag.at)
        if not words or words[0].kind not in ("path", "open"):
            raise refused("a block begins with a name, such as {{#if …}}", tag.at)
        block = _block_of(words, tag.at)
        self._open.append(_Open(tag, block, closes_with=words[0].text, is_link=is_link, is_inverse=is_inverse))

    def _turn(self, tag: Tag, rest: Sequence[TagToken]) -> None:
        """Go on with what is written otherwise; ``{{else if …}}`` begins a block there."""
        if not self._open:
            raise refused("{{else}} outside of a block", tag.at)
        block = self._open[-1]
        if block.otherwise is not None:
            raise refused("this block has two {{else}}", tag.at)
        block.otherwise = []
        if rest:
            self._push(tag, rest, is_link=True)

    def _end(self, tag: Tag) -> None:
        name = tag.words[0].text if tag.words else ""
        while self._open and self._open[-1].is_link:
            self._close()
        if not self._open:
            raise refused(f"{{{{/{name}}}}} ends no block", tag.at)
        expected = self._open[-1].closes_with
        if name != expected:
            raise refused(f"{{{{/{name}}}}} ends a block that begins with {{{{#{expected}}}}}", tag.at)
        self._close()

    def _close(self) -> None:
        done = self._open.pop().closed()
        self._into().append(done)


def _block_of(words: Sequence[TagToken], at: TemplatePosition) -> Block:
    words, names = _without_names(words, at)
    first = words[0]
    if first.kind == "path" and first.text in BLOCKS:
        reader = _Words(words[1:], at)
        arguments, named = reader.arguments()
        if len(arguments) != 1:
            raise refused(f"{{{{#{first.text}}}}} takes one value, not {len(arguments)}", at)
        return Block(first.text, arguments[0], at, names=names, named=named)
    if first.kind == "path" and first.text in FUNCTIONS:
        said = f"{first.text} begins no block; write {{{{#if ({first.text} …)}}}} or {{{{#with ({first.text} …)}}}}"
        raise refused(said, at)
    if first.kind == "path" and len(words) > 1:
        raise refused(f"unknown block {first.text!r}; {meant(first.text, BLOCKS)}", at)
    return Block(SECTION, _expression_of(words, at), at, names=names)


def _without_names(words: Sequence[TagToken], at: TemplatePosition) -> tuple[Sequence[TagToken], tuple[str, ...]]:
    """Split off the block parameters: ``as |one index|``."""
    bars = [index for index, word in enumerate(words) if word.kind == "bar"]
    if not bars:
        return words, ()
    first = bars[0]
    names = tuple(word.text for word in words[first + 1 : -1])
    is_whole = len(bars) == 2 and bars[1] == len(words) - 1 and first > 1 and words[first - 1].text == "as"
    if not is_whole or not 0 < len(names) <= _NAMES_LIMIT:
        raise refused("block parameters are written as |one| or as |one index|, at the end", at)
    return words[: first - 1], names


def _expression_of(words: Sequence[TagToken], at: TemplatePosition) -> Expression:
    """Return the expression of a whole tag: a value, or a call without parentheses."""
    reader = _Words(words, at)
    if words[0].kind == "path" and (len(words) > 1 or words[0].text in FUNCTIONS):
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
            raise refused(f"unexpected {word.text!r}", word.at)

    def call(self) -> TemplateCall:
        """Read a function and all arguments that follow."""
        name = self._take()
        _check_known(name, FUNCTIONS)
        arguments, named = self.arguments()
        return TemplateCall(name.text, name.at, arguments, named)

    def arguments(self) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        """Read arguments up to the end or the parenthesis that closes."""
        arguments: list[Expression] = []
        named: list[tuple[str, Expression]] = []
        while (word := self._peek()) and word.kind != "close":
            if word.kind == "named":
                self._take()
                named.append((word.text, self.value()))
            else:
                arguments.append(self.value())
        if self._depth == 0:
            self.check_end()
        return tuple(arguments), tuple(named)

    def value(self) -> Expression:
        word = self._take()
        match word.kind:
            case "text":
                return Literal(word.text[1:-1])
            case "number":
                return Literal(float(word.text) if "." in word.text else int(word.text[:20]))
            case "path" if word.text in _CONSTANTS:
                return Literal(_CONSTANTS[word.text])
            case "path":
                return path_of(word)
            case "open":
                return self._nested(word)
            case _:
                raise refused(f"unexpected {word.text!r}", word.at)

    def _nested(self, opened: TagToken) -> TemplateCall:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refused(f"calls are nested more than {MAX_DEPTH} levels deep", opened.at)
        inner = self._peek()
        if inner is None or inner.kind != "path":
            raise refused("a function belongs here: (eq name 'tags')", opened.at)
        call = self.call()
        closing = self._peek()
        if closing is None:
            raise refused("this parenthesis is not closed", opened.at)
        self._take()
        self._depth -= 1
        return call

    def _peek(self) -> TagToken | None:
        return self._words[self._next] if self._next < len(self._words) else None

    def _take(self) -> TagToken:
        word = self._peek()
        if word is None:
            raise refused("a value is missing", self._at)
        self._next += 1
        return word


def _check_known(name: TagToken, known: Collection[str]) -> None:
    if name.text not in known:
        raise refused(f"unknown helper {name.text!r}; {meant(name.text, sorted(known))}", name.at)


def path_of(word: TagToken) -> Path:
    """Return the path that a word spells: ``../entity.[first name]``, ``@root.event``."""
    rest, up = word.text, 0
    is_private = rest.startswith("@")
    rest = rest[1:] if is_private else rest
    while rest.startswith("../") or rest == "..":
        rest, up = rest[3:], up + 1
    is_scoped = up > 0 or rest.startswith(".")
    rest = rest.removeprefix("./")
    steps = tuple(_steps(rest))
    if steps[:1] == ("this",) and not is_private:
        steps, is_scoped = steps[1:], True
    return Path(steps, word.at, up, is_private, is_scoped)


def _steps(text: str) -> list[str]:
    steps: list[str] = []
    while text:
        if text[0] == "[":
            end = text.find("]")
            steps.append(text[1:end])
            text = text[end + 1 :]
        elif text[0] in "./":
            text = text[1:]
        else:
            end = min((at for at in (text.find("."), text.find("/")) if at >= 0), default=len(text))
            steps.append(text[:end])
            text = text[end:]
    return steps

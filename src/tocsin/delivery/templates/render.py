"""Interpreter of notification templates: a tree and a context become text, within a budget.

Texts of the context are escaped, in ``{{…}}`` and in ``{{{…}}}``: only functions make markup. A bare name is looked up
in the contexts around it as well, as upstream's Handlebars does. Next: ``delivery/templates/rich_text.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tocsin.delivery.templates.arguments import Arguments
from tocsin.delivery.templates.budget import Budget
from tocsin.delivery.templates.functions import FUNCTIONS
from tocsin.delivery.templates.parse import parse
from tocsin.delivery.templates.rich_text import plain_of
from tocsin.delivery.templates.syntax import (
    Block,
    Expression,
    Literal,
    Node,
    Output,
    Path,
    TemplateCall,
    Text,
    template_error,
)
from tocsin.delivery.templates.values import Value, escape_text, opens_if, opens_section, size_of, step_into, text_of
from tocsin.errors import InvalidTemplate

_SIZE_PER_STEP = 64
Context = Mapping[str, Value]


def render_html(template: str, context: Context, budget: Budget) -> str:
    """Return what a template makes of a context, as HTML in which the context's texts are escaped.

    Raises
    ------
    InvalidTemplate : it is none, or uses more than its budget; says where
    """
    return render_text(template, context, budget, escape_text)


def render_line(template: str, context: Context, budget: Budget) -> str:
    """Return what a template makes of a context, as plain text. Raises as ``render_html``."""
    return render_text(template, context, budget, plain_of)


def render_text(template: str, context: Context, budget: Budget, write_text: Callable[[str], str]) -> str:
    """Return what a template makes of a context, its texts written by ``write_text``. Raises as ``render_html``."""
    return _Renderer(context, budget, write_text).render(parse(template))


@dataclass(frozen=True)
class _Frame:
    """A context that a block opens, inside of another.

    ``names`` are its block parameters, ``variables`` what begins with ``@``.
    """

    value: Value
    outer: _Frame | None = None
    names: Mapping[str, Value] = field(default_factory=dict)
    variables: Mapping[str, Value] = field(default_factory=dict)


class _Renderer:
    """Renders one template."""

    def __init__(self, context: Context, budget: Budget, write_text: Callable[[str], str]) -> None:
        self._root, self._budget, self._shown = dict(context), budget, write_text
        self._parts: list[str] = []

    def render(self, nodes: Sequence[Node]) -> str:
        self._render(nodes, _Frame(self._root))
        return "".join(self._parts)

    def _render(self, nodes: Sequence[Node], frame: _Frame) -> None:
        for node in nodes:
            try:
                self._one(node, frame)
            except InvalidTemplate as error:
                if isinstance(node, Text) or error.message.startswith("Line "):
                    raise
                raise template_error(f"{error.message[:1].lower()}{error.message[1:]}", node.at) from None

    def _one(self, node: Node, frame: _Frame) -> None:
        self._budget.step()
        match node:
            case Text(text):
                self._write(text)
            case Output(value):
                self._write(self._shown(self._text_of(self._value(value, frame))))
            case Block():
                self._block(node, frame)

    def _write(self, text: str) -> None:
        self._budget.write(len(text))
        self._budget.step(len(text) // _SIZE_PER_STEP)
        self._parts.append(text)

    def _text_of(self, value: Value) -> str:
        text = text_of(value)
        self._budget.step(len(text) // _SIZE_PER_STEP)
        return text

    def _block(self, block: Block, frame: _Frame) -> None:
        value = self._value(block.value, frame)
        match block.kind:
            case "if" | "unless":
                with_zero = bool(self._named_values(block.keywords, frame).get("includeZero"))
                is_open = opens_if(value, with_zero=with_zero) == (block.kind == "if")
                self._render(block.body if is_open else block.otherwise, frame)
            case "with":
                self._within(block, value, frame, is_open=opens_if(value, with_zero=True))
            case "section" if value is True:
                self._render(block.body, frame)
            case "section" if not isinstance(value, list):
                self._within(block, value, frame, is_open=opens_section(value))
            case _:
                self._render_each(block, value, frame)

    def _within(self, block: Block, value: Value, frame: _Frame, *, is_open: bool) -> None:
        """Render a block in the context of its value, or what is written otherwise in the present one."""
        inner = _Frame(value, frame, dict(zip(block.names, [value], strict=False)))
        self._render(block.body, inner) if is_open else self._render(block.otherwise, frame)

    def _render_each(self, block: Block, value: Value, frame: _Frame) -> None:
        is_empty = True
        for inner in _members(block, value, frame):
            is_empty = False
            self._budget.step()
            self._render(block.body, inner)
        if is_empty:
            self._render(block.otherwise, frame)

    def _value(self, expression: Expression, frame: _Frame) -> Value:
        self._budget.step()
        match expression:
            case Literal(value):
                return value
            case Path():
                return self._look_up_path(expression, frame)
            case TemplateCall():
                return self._call(expression, frame)

    def _call(self, call: TemplateCall, frame: _Frame) -> Value:
        values = tuple(self._value(one, frame) for one in call.arguments) or (frame.value,)
        self._budget.step(sum(map(size_of, values)) // _SIZE_PER_STEP)
        arguments = Arguments(values, self._budget, self._root, self._named_values(call.keywords, frame))
        result = FUNCTIONS[call.name].apply(arguments)
        self._budget.make(size_of(result))
        return result

    def _named_values(self, arguments: Sequence[tuple[str, Expression]], frame: _Frame) -> dict[str, Value]:
        return {name: self._value(one, frame) for name, one in arguments}

    def _look_up_path(self, path: Path, frame: _Frame) -> Value:
        for _ in range(path.up):
            frame = frame.outer or frame
        if path.is_private:
            return self._private(path.steps, frame)
        if not path.steps:
            return frame.value
        value = _value_in(frame, path.steps[0]) if path.is_scoped else self._look_up_name(frame, path.steps[0])
        return _value_at(value, path.steps[1:])

    def _private(self, steps: Sequence[str], frame: _Frame) -> Value:
        if steps[:1] == ("root",):
            return _value_at(self._root, steps[1:])
        around: _Frame | None = frame
        while around is not None and steps:
            if steps[0] in around.variables:
                return _value_at(around.variables[steps[0]], steps[1:])
            around = around.outer
        return None

    def _look_up_name(self, frame: _Frame, name: str) -> Value:
        around: _Frame | None = frame
        while around is not None:
            self._budget.step()
            if (value := _value_in(around, name)) is not None:
                return value
            around = around.outer
        return None


def _members(block: Block, value: Value, frame: _Frame) -> Iterator[_Frame]:
    """Yield the context of each member of a list or object."""
    if not isinstance(value, list | dict):
        return
    last = len(value) - 1
    keyed = value.items() if isinstance(value, dict) else enumerate(value)
    for index, (key, member) in enumerate(keyed):
        names = dict(zip(block.names, (member, key), strict=False))
        variables = {"index": index, "key": key, "first": index == 0, "last": index == last}
        yield _Frame(member, frame, names, variables)


def _value_in(frame: _Frame, name: str) -> Value:
    return frame.names[name] if name in frame.names else step_into(frame.value, name)


def _value_at(value: Value, steps: Sequence[str]) -> Value:
    for step in steps:
        value = step_into(value, step)
    return value

"""Detection of texts without quotes where a condition requires a string, with the corrected spelling.

Next: ``conditions/check.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.conditions.errors import refusal
from tocsin.conditions.fields import FIELDS
from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.nodes import Kind
from tocsin.conditions.syntax import Call, Method, Name, PathStep, Position, Written, literal_text, start_of, text_of
from tocsin.errors import InvalidCondition
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import nearest

_ENTITIES = ("entity", *ENTITY_TYPES)


def text_in_quotes(written: Written) -> str | None:
    """Return a name, or names joined by dots, as the text that it would be in quotes; None for all else."""
    bare = text_of(written) if isinstance(written, Name | PathStep) else "["
    return None if "[" in bare else literal_text(bare)


def not_quoted(says: str, written: Written) -> InvalidCondition:
    """Return the error for an operand where only a text is allowed; ``says`` is the problem, this adds the remedy."""
    text = text_in_quotes(written)
    if text is None:
        return refusal(says, start_of(written), expected=("a list of texts such as {'a','b'}",))
    return _error_with_suggestion(f"{says}; put text in quotes: {text}", start_of(written), text)


def check_quoted(written: Written, opposite: Written, words: Collection[str] = ()) -> None:
    """Reject an unknown name that is compared with a field of texts: ``tier == Tier.Tier1``.

    ``words`` are the field's possible values, where it has a closed set of them.

    Raises
    ------
    InvalidCondition : it names nothing; the message has the text in quotes, and the field that may be meant
    """
    text, root = text_in_quotes(written), _root(written)
    if text is None or root is None or not _holds_texts(opposite):
        return
    if _is_known(root.name) and text[1:-1] not in words:
        return
    says = f"unknown field {root.name!r}"
    near = None if nearest(text[1:-1], words) else _field_meant(written, root.name)
    if near is None:
        raise _error_with_suggestion(f"{says}; put text in quotes: {text}", root.at, text)
    raise _error_with_suggestion(f"{says}; did you mean {near}, or the text {text}?", root.at, near)


def _error_with_suggestion(message: str, at: Position, suggestion: str) -> InvalidCondition:
    """Return the error of a message that has the suggestion in its own words."""
    error = refusal(message, at, expected=("text in quotes",))
    error.suggestion = suggestion
    return error


def _root(written: Written) -> Name | None:
    while isinstance(written, PathStep):
        written = written.parent
    return written if isinstance(written, Name) else None


def _field_meant(written: Written, root: str) -> str | None:
    """Return what may be meant by the name at the root: only an entity has parts."""
    near = nearest(root, (*FIELDS, *_ENTITIES))
    return near if near in _ENTITIES or isinstance(written, Name) else None


def _is_known(name: str) -> bool:
    return name in FIELDS or name in FUNCTIONS or name in _ENTITIES


def _holds_texts(written: Written) -> bool:
    """Return whether what is written may hold texts: a field that does, or something in a document."""
    match written:
        case Name(name=name):
            return name in FIELDS and FIELDS[name].kind not in (Kind.NUMBER, Kind.BOOLEAN)
        case PathStep():
            root = _root(written)
            return root is not None and root.name in _ENTITIES
        case Call(function=function):
            return function not in FUNCTIONS
        case Method(receiver=receiver):
            return _holds_texts(receiver)
        case _:
            return False

"""Parts of an event that a condition reads and in which references to other entities, or labels, can be.

Who may view an event need not be allowed to view all that it refers to. Next: ``flow/resolve/withholding.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.conditions.changes import CHANGE_SETS, CHANGES
from tocsin.conditions.documents import LABEL_KEYS
from tocsin.conditions.fields import CLOSURES, FIELDS, PLACE, Provenance
from tocsin.conditions.nodes import FieldValue, Node, PathRoot, PathValue, Value, innermost, values_in
from tocsin.logic import leaves

CHANGED = "changeDescription"
"""What an event says of its changes, where the other parts are keys of its document."""
ANY_PART = "*"

_LABELS = (*LABEL_KEYS, CHANGED)  # of an event without a document, its change says the labels
_KEYS_OF_FIELD = {
    "tags": _LABELS,
    "tier": _LABELS,
    "owners": ("owners", "owner"),
    "domains": ("domains", "domain"),
    "service": ("service",),
    "testSuites": ("testSuites",),
}
_WITHOUT_REFERENCES = frozenset(
    (
        "isBot isBreaking isAnnounced changeRequest openAnswers testStatus pipelineStatus testedEntityFqn "
        "threadType mentions unchangedFor reportedAt"
    ).split()
) | {PLACE}
"""Fields worked out from an event that say nothing of what it refers to."""
_OF_CHANGES = frozenset(
    "fieldsAdded fieldsUpdated fieldsDeleted fieldChanged changeCategory changeOperation changeTarget".split()
)


def parts_read(node: Node) -> frozenset[str]:
    """Return the keys of the document that a condition reads, ``CHANGED``, or ``ANY_PART`` for the whole document."""
    values = (innermost(value) for leaf in leaves(node) for value in values_in(leaf))
    return frozenset(part for value in values for part in _of_value(value))


def _of_value(value: Value) -> Iterator[str]:
    match value:
        case FieldValue(name=name):
            yield from _of_field(name)
        case PathValue(root=PathRoot.ENTITY, steps=steps):
            yield steps[0] if steps and isinstance(steps[0], str) else ANY_PART
        case PathValue():
            yield CHANGED


def _of_field(name: str) -> Iterator[str]:
    plain = CLOSURES.get(name, name)
    if plain in _OF_CHANGES or plain == CHANGES or plain in CHANGE_SETS:
        yield CHANGED
    elif plain in _KEYS_OF_FIELD:
        yield from _KEYS_OF_FIELD[plain]
    elif plain not in _WITHOUT_REFERENCES and (plain not in FIELDS or FIELDS[plain].provenance is Provenance.CAPTURE):
        yield ANY_PART

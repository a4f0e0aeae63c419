"""Former names in alert requests: an alert file that was written before a rename still means the same entities.

Next: ``server/alerts/facts.py`` reads which names there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tocsin.catalogue.naming.alert_names import condition_names, exact_names, receiver_names, with_names
from tocsin.conditions.entity_names import PEOPLE, EntityName, Types
from tocsin.errors import InvalidInput
from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.model.entity import Document

ReferencesByName = Mapping[tuple[Types, str], Document]


@dataclass(frozen=True)
class NamedEntities:
    """References to the entities that have the names in a request, and to those visible ones that had them before."""

    existing: ReferencesByName = field(default_factory=dict)
    former: ReferencesByName = field(default_factory=dict)


def with_current_names(
    request: Document, before: Document | None, entities: NamedEntities
) -> tuple[Document, tuple[Remark, ...]]:
    """Return a request with the current names of renamed entities, and a remark for each former name.

    A former name counts only while nothing else has it.

    Raises
    ------
    InvalidInput : it would let an alert notify another team or user than before, who has been given the former name
    """
    _check_not_reused(request, before, entities)
    current = {key: _name_of(reference) for key, reference in entities.former.items() if key not in entities.existing}
    if not current:
        return request, ()
    remarks = {
        (name.text, place): Remark(
            RemarkKind.RENAMED, f"{name.text!r} is now called {current[name.types, name.text]!r}; write that", place
        )
        for place, many in exact_names(request).items()
        for name in many
        if (name.types, name.text) in current
    }
    return with_names(request, lambda name: current.get((name.types, name.text))), tuple(remarks.values())


def _check_not_reused(request: Document, before: Document | None, entities: NamedEntities) -> None:
    """Refuse a recipient's former name that another person has now, where the alert says the current one."""
    old_names, new_names = (
        {(name.types, name.text) for name in _recipients(alert)} for alert in (before or {}, request)
    )
    for types, text in sorted(new_names - old_names):
        was, now = entities.former.get((types, text)), entities.existing.get((types, text))
        if was is None or now is None or was["id"] == now["id"]:
            continue
        if any(said == _name_of(was) and was["type"] in kinds for kinds, said in old_names - new_names):
            raise InvalidInput(
                f"{text!r} was the name of the {was['type']} that this alert notifies, which is now called"
                f" {_name_of(was)!r}; another {now['type']} has the name now. Write {_name_of(was)!r}; to notify the"
                f" other one, save the alert without {_name_of(was)!r} first",
                field="destinations",
            )


def _recipients(alert: Document) -> Iterator[EntityName]:
    yield from receiver_names(alert)
    yield from (name for name in condition_names(alert) if name.is_recipient)


def _name_of(reference: Document) -> str:
    return str(reference["name"] if reference["type"] in PEOPLE else reference["fullyQualifiedName"])

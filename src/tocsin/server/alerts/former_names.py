"""Former names in alert requests: an alert file that was written before a rename still means the same entities.

Next: ``store/catalogue/relations/names.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from tocsin.catalogue.naming.alert_names import condition_names, receiver_names, with_names
from tocsin.conditions.entity_names import PEOPLE, Comparing, EntityName, Types
from tocsin.errors import InvalidInput
from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.model.entity import Document
from tocsin.server.http.request import Caller

Find = Callable[[Types, set[str]], Mapping[str, Document]]
_DocumentsByName = Mapping[tuple[Types, str], Document]


def with_current_names(
    request: Document, before: Document | None, caller: Caller
) -> tuple[Document, tuple[Remark, ...]]:
    """Return a request with the current names of renamed entities, and a remark for each former name.

    A former name counts only while nothing else has it.

    Raises
    ------
    InvalidInput : it would let an alert notify another team or user than before, who has been given the former name
    """
    places = {"destinations": [*receiver_names(request)], "filteringRules": [*_exact(condition_names(request))]}
    entity_names = [name for many in places.values() for name in many]
    names = caller.parts.alert_stores.names
    existing, former = _entities_named(entity_names, names.existing), _entities_named(entity_names, names.formerly)
    visible_ids = caller.visibility.sees(former.values()) if former else ()
    former = {key: reference for key, reference in former.items() if reference["id"] in visible_ids}
    _check_not_reused(request, before, existing, former)
    current = {key: _name_of(reference) for key, reference in former.items() if key not in existing}
    if not current:
        return request, ()
    remarks = {
        (name.text, place): Remark(
            RemarkKind.RENAMED, f"{name.text!r} is now called {current[name.types, name.text]!r}; write that", place
        )
        for place, many in places.items()
        for name in many
        if (name.types, name.text) in current
    }
    return with_names(request, lambda name: current.get((name.types, name.text))), tuple(remarks.values())


def _exact(names: Iterable[EntityName]) -> Iterable[EntityName]:
    return (name for name in names if name.comparing is Comparing.EXACT)


def _entities_named(names: Iterable[EntityName], find: Find) -> dict[tuple[Types, str], Document]:
    texts: dict[Types, set[str]] = defaultdict(set)
    for name in names:
        texts[name.types].add(name.text)
    return {(types, text): found for types, wanted in texts.items() for text, found in find(types, wanted).items()}


def _check_not_reused(
    request: Document, before: Document | None, existing: _DocumentsByName, former: _DocumentsByName
) -> None:
    """Refuse a recipient's former name that somebody else has now, where the alert says the current one."""
    old_names, new_names = (
        {(name.types, name.text) for name in _recipients(alert)} for alert in (before or {}, request)
    )
    for types, text in sorted(new_names - old_names):
        was, now = former.get((types, text)), existing.get((types, text))
        if was is None or now is None or was["id"] == now["id"]:
            continue
        if any(said == _name_of(was) and was["type"] in kinds for kinds, said in old_names - new_names):
            raise InvalidInput(
                f"{text!r} was the name of the {was['type']} that this alert notifies, which is now called"
                f" {_name_of(was)!r}; another {now['type']} has the name now. Write {_name_of(was)!r}; to notify the"
                f" other one, save the alert without {_name_of(was)!r} first",
                field="destinations",
            )


def _recipients(alert: Document) -> Iterable[EntityName]:
    yield from receiver_names(alert)
    yield from (name for name in condition_names(alert) if name.is_recipient)


def _name_of(reference: Document) -> str:
    return str(reference["name"] if reference["type"] in PEOPLE else reference["fullyQualifiedName"])

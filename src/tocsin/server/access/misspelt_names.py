"""Names in an alert that nothing has: in conditions, where something is called similarly, and of owners and domains.

Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from tocsin.catalogue.naming.alert_names import placed_rules
from tocsin.conditions.entity_names import Comparing, EntityName, Types, entity_names
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow.capture.references import Given, key_of, keys_of
from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import REFERENCE_LISTS
from tocsin.server.access.permissions import visible_document
from tocsin.server.access.similar_names import similar_name
from tocsin.server.request import Caller

_MOST_LOOKED_UP = 10
"""Names of an alert for which similar ones are looked up."""


def misspelt_names(alert: Document, caller: Caller) -> Iterator[Remark]:
    """Yield a remark for each name that nothing has, with the similar one that there is.

    What the caller may not see does not exist. What is named may be created later: without a similar name, no remark.
    Malformed parts of an alert have none.
    """
    placed_names = [
        (place, name)
        for place, rule in placed_rules(alert)
        for name in entity_names(rule["condition"])
        if name.comparing is Comparing.EXACT and not name.is_recipient  # without the team, an alert is refused
    ]
    if not placed_names:
        return
    seen_names = _seen_names((name for _, name in placed_names), caller)
    all_resources = alert["filteringRules"].get("resources")
    names_of_resources = all_resources if isinstance(all_resources, list) else ()
    resources = tuple(one for one in names_of_resources if isinstance(one, str) and one in ENTITY_TYPES)
    unseen = ((place, name) for place, name in placed_names if (name.types, name.text) not in seen_names)
    for place, name in islice(unseen, _MOST_LOOKED_UP):
        types = name.types if len(name.types) < len(ENTITY_TYPES) else resources
        if similar := next(filter(None, (similar_name(kind, name.text, caller) for kind in types)), ""):
            message = f"Nothing that you may see is called {name.text!r}{similar}"
            yield Remark(RemarkKind.UNKNOWN_WORD, message, place)


def missing_references(alert: Document, caller: Caller) -> Iterator[InvalidInput]:
    """Yield the owners and domains of a request that there are not, or that the caller may not see, with their places.

    Malformed ones are left out.
    """
    for key in ("owners", "domains"):
        references = alert.get(key)
        for index, reference in enumerate(references if isinstance(references, list) else ()):
            named_kind = reference.get("type") if isinstance(reference, dict) else REFERENCE_LISTS[key][0]
            if named_kind in REFERENCE_LISTS[key] and not _is_seen(named_kind, reference, caller):
                name = key_of(reference)
                similar = similar_name(named_kind, name.fqn, caller) if name.fqn else ""
                yield InvalidInput(f"{named_kind} {name} not found{similar}", field=f"{key}[{index}]")


def _is_seen(kind: str, reference: Given, caller: Caller) -> bool:
    """Return whether there is what a reference names and the caller may see it, or it names nothing."""
    try:
        keys = keys_of(reference)
    except InvalidInput:
        return True
    for key in keys:
        with suppress(NotFound, Forbidden):
            visible_document(ENTITY_TYPES[kind], key, caller)
            return True
    return False


def _seen_names(names: Iterable[EntityName], caller: Caller) -> set[tuple[Types, str]]:
    """Return which of these are the names of what the caller may see."""
    texts: dict[Types, set[str]] = defaultdict(set)
    for name in names:
        texts[name.types].add(name.text)
    existing = {
        (types, text): reference
        for types, wording in texts.items()
        for text, reference in caller.parts.alert_stores.names.references_of(types, wording).items()
    }
    visible_ids = caller.visibility.sees(existing.values()) if existing else ()
    return {key for key, reference in existing.items() if reference["id"] in visible_ids}

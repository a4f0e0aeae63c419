"""Remarks on names in an alert's conditions that nothing has, while something is called similarly.

Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice

from tocsin.catalogue.naming.alert_names import placed_rules
from tocsin.conditions.entity_names import Comparing, EntityName, Types, entity_names
from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
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

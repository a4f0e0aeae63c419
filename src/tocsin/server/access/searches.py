"""Narrowing of searches to what the caller may see: entities, and the labels by which they are found.

Next: ``server/routes/search.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tocsin.logic import ALWAYS, NEVER, disjunction_of, leaves, replace_leaves
from tocsin.model.pointers import LABEL_TYPES
from tocsin.search.fields import equals
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import IndexedFact, Leaf, Node
from tocsin.search.parse import Query
from tocsin.server.access.permissions import scope_on
from tocsin.server.request import Caller
from tocsin.store.catalogue.search.results import Search

_MOST_BEARERS = 10_000
"""Tags and terms that the labels of one query may name; a query is too short to name more."""


def narrowed_search(caller: Caller, search: Search) -> Search:
    """Return the search narrowed to what the caller may see: the one place where search asks for permission.

    Types of which the caller may see nothing are left out; of those they may see in part, the index shows that part.
    Nothing has a label of a tag or term that the caller may not see.
    """
    query = replace(search.query, node=_without_hidden_labels(caller, search.query.node))
    search = search if query == search.query else replace(search, query=query)
    types = SEARCHED if search.types is None else search.types
    scopes = {name: scope_on(caller, name) for name in types}
    visible_types = tuple(name for name in types if scopes[name] is not NEVER)
    partly = tuple((name, scopes[name]) for name in visible_types if scopes[name] is not ALWAYS)
    return search if visible_types == types and not partly else replace(search, types=visible_types, scopes=partly)


def _without_hidden_labels(caller: Caller, node: Node) -> Node:
    """Return a query in which no entry has a label whose tag or term the caller may not see, or is gone.

    The labels of a query are looked up together, in the index, which compares names as it compares labels.
    """
    labels = {label for leaf in leaves(node) if (label := _label_of(leaf))}
    if not labels or all(scope_on(caller, kind) is ALWAYS for kind in LABEL_TYPES):
        return node
    hidden_labels = labels - _visible_labels(caller, labels)
    return replace_leaves(node, lambda leaf: NEVER if _label_of(leaf) in hidden_labels else leaf)


def _label_of(leaf: Leaf) -> str | None:
    """Return the label that a leaf names, in lower case, as the index compares it."""
    return leaf.label.lower() if isinstance(leaf, IndexedFact) and leaf.label is not None else None


def _visible_labels(caller: Caller, labels: Collection[str]) -> set[str]:
    """Return those of these names, in lower case, that have a bearer and whose every bearer the caller may see."""
    bearers = disjunction_of(*(equals("fullyQualifiedName", label) for label in sorted(labels)))
    search = Search(Query(bearers), LABEL_TYPES, deleted=None, sort_column="fqn", size=_MOST_BEARERS)
    hits = caller.parts.entities.search.hits(search)
    visible_ids = caller.visibility.sees({"type": hit.entity_type, "id": hit.entity_id} for hit in hits)
    hidden_labels = {str(hit.sort[0]).lower() for hit in hits if hit.entity_id not in visible_ids}
    return {str(hit.sort[0]).lower() for hit in hits} - hidden_labels

"""Narrowing of searches to what the caller may see: entities, and the labels and references that find them.

Next: ``server/routes/search.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tocsin.access.nodes import Condition
from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, NEVER, disjunction_of, leaves, replace_leaves
from tocsin.model.pointers import LABEL_TYPES
from tocsin.search.fields import INHERITED, REFERRED_TYPES, equals
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import AnyFact, IndexedFact, Leaf, Node, Referent
from tocsin.search.parse import Query
from tocsin.search.tokens import token_of
from tocsin.server.access.permissions import scope_on
from tocsin.server.request import Caller
from tocsin.store.catalogue.search.results import Search

_MOST_BEARERS = 10_000
"""Tags, terms and others that are looked up for one query; one that names them is too short to name more."""

_MOST_OF_ANY = 5_000
"""Labels, or people and others, that a query for any of them asks for."""


def narrowed_search(caller: Caller, search: Search) -> Search:
    """Return the search narrowed to what the caller may see: the one place where search asks for permission.

    Types of which the caller may see nothing are left out; of those they may see in part, the index shows that part.
    Nothing has a label of, nor a reference to, what the caller may not see.
    """
    node = _without_hidden_referents(caller, _without_hidden_labels(caller, search.query.node))
    query = replace(search.query, node=node)
    search = search if query == search.query else replace(search, query=query)
    types = SEARCHED if search.types is None else search.types
    visible_types, partly = _visible_types(caller, types)
    return search if visible_types == types and not partly else replace(search, types=visible_types, scopes=partly)


def _without_hidden_labels(caller: Caller, node: Node) -> Node:
    """Return a query in which no entry has a label whose tag or term the caller may not see, or is gone.

    The labels of a query are looked up together, in the index, which compares names as it compares labels. A query for
    whatever has any label looks all up.

    Raises
    ------
    InvalidInput : it is for any label, and there are too many of them to look up
    """
    labels = {label for leaf in leaves(node) if (label := _label_of(leaf))}
    is_of_any = any(isinstance(leaf, IndexedFact) and leaf.labels for leaf in leaves(node))
    if not (labels or is_of_any) or all(scope_on(caller, kind) is ALWAYS for kind in LABEL_TYPES):
        return node
    visible_labels = _visible_labels(caller, None if is_of_any else labels)

    def narrow(leaf: Leaf) -> Node:
        if isinstance(leaf, IndexedFact) and leaf.labels is not None:
            tokens = tuple(token_of(leaf.labels, label) for label in sorted(visible_labels))
            return AnyFact(tokens) if tokens else NEVER
        label = _label_of(leaf)
        return leaf if label is None or label in visible_labels else NEVER

    return replace_leaves(node, narrow)


def _label_of(leaf: Leaf) -> str | None:
    """Return the label that a leaf names, in lower case, as the index compares it."""
    return leaf.label.lower() if isinstance(leaf, IndexedFact) and leaf.label is not None else None


def _visible_labels(caller: Caller, labels: Collection[str] | None) -> set[str]:
    """Return those of these names, in lower case, that have a bearer and whose every bearer the caller may see.

    None: of all names.
    """
    names = (equals("fullyQualifiedName", label) for label in sorted(labels or ()))
    bearers = ALWAYS if labels is None else disjunction_of(*names)
    limit = _MOST_OF_ANY if labels is None else _MOST_BEARERS
    search = Search(Query(bearers), LABEL_TYPES, deleted=None, sort_column="fqn", size=limit + 1)
    hits = caller.parts.entities.search.hits(search)
    if labels is None and len(hits) > limit:
        raise InvalidInput(f"ask for a label by its name: there are more than {limit:,} of them", field="q")
    visible_ids = caller.visibility.sees({"type": hit.entity_type, "id": hit.entity_id} for hit in hits)
    hidden_labels = {str(hit.sort[0]).lower() for hit in hits if hit.entity_id not in visible_ids}
    return {str(hit.sort[0]).lower() for hit in hits} - hidden_labels


def _without_hidden_referents(caller: Caller, node: Node) -> Node:
    """Return a query in which nothing refers to what the caller may not see, or is gone; what it names is looked up.

    A query for whatever refers to any looks up all that the caller may see.

    Raises
    ------
    InvalidInput : it is for any, and there are too many of them to look up
    """
    referents = {referent for leaf in leaves(node) if (referent := _referent_of(leaf, caller))}
    keys = {key for leaf in leaves(node) if (key := _referents_of(leaf, caller))}
    hidden_referents = referents - _visible_referents(caller, referents) if referents else referents
    visible_by_key = {key: _any_visible_referent(caller, key) for key in keys}

    def narrow(leaf: Leaf) -> Node:
        if key := _referents_of(leaf, caller):
            return visible_by_key[key]
        return NEVER if _referent_of(leaf, caller) in hidden_referents else leaf

    return replace_leaves(node, narrow) if hidden_referents or keys else node


def _referent_of(leaf: Leaf, caller: Caller) -> Referent | None:
    """Return what a leaf refers to, in lower case, as the index compares it; None where the caller may see all such."""
    referent = leaf.referent if isinstance(leaf, IndexedFact) else None
    if referent is None or all(scope_on(caller, kind) is ALWAYS for kind in referent.types):
        return None
    return replace(referent, value=referent.value.lower())


def _referents_of(leaf: Leaf, caller: Caller) -> str | None:
    """Return of which key a leaf asks for any reference; None where the caller may see all that it may name."""
    key = leaf.referents if isinstance(leaf, IndexedFact) else None
    return None if key is None or all(scope_on(caller, kind) is ALWAYS for kind in REFERRED_TYPES[key]) else key


def _any_visible_referent(caller: Caller, key: str) -> Node:
    """Return what is true of the entries that refer, under this key, to any that the caller may see, or to them."""
    types, scopes = _visible_types(caller, REFERRED_TYPES[key])
    search = Search(
        Query(ALWAYS), types, deleted=None, sort_column="fqn", size=_MOST_OF_ANY + 1 if types else 0, scopes=scopes
    )
    ids = {hit.entity_id for hit in caller.parts.entities.search.hits(search)}
    if len(ids) > _MOST_OF_ANY:
        raise InvalidInput(f"ask for {key} by name: there are more than {_MOST_OF_ANY:,} of them", field="q")
    ids |= {caller.actor.id} if "user" in REFERRED_TYPES[key] else set()
    tokens = tuple(token_of(f"{key}.id", one) for one in sorted(ids))
    return AnyFact(tokens, key if key in INHERITED else None) if tokens else NEVER


def _visible_types(caller: Caller, types: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[str, Condition], ...]]:
    """Return those of these types of which the caller may see any, and which of those that they may see in part."""
    scopes = {name: scope_on(caller, name) for name in types}
    visible_types = tuple(name for name in types if scopes[name] is not NEVER)
    return visible_types, tuple((name, scopes[name]) for name in visible_types if scopes[name] is not ALWAYS)


def _visible_referents(caller: Caller, referents: Collection[Referent]) -> set[Referent]:
    """Return those that are there, and all of which the caller may see; oneself may always be named."""
    types = tuple(sorted({kind for one in referents for kind in one.types}))
    node = disjunction_of(*(equals(key, value) for key, value in sorted({(one.key, one.value) for one in referents})))
    search = Search(Query(node), types, deleted=None, sort_column="fqn", size=_MOST_BEARERS)
    hits = caller.parts.entities.search.hits(search)
    documents = caller.parts.entities.search.documents([hit.entity_id for hit in hits])
    visible_ids = caller.visibility.sees({"type": hit.entity_type, "id": hit.entity_id} for hit in hits)
    visible_ids |= {caller.actor.id}

    def ids_of(referent: Referent) -> set[str]:
        return {
            hit.entity_id
            for hit in hits
            if hit.entity_type in referent.types
            and str(documents.get(hit.entity_id, {}).get(referent.key, "")).lower() == referent.value
        }

    return {one for one in referents if (ids := ids_of(one)) and ids <= visible_ids}

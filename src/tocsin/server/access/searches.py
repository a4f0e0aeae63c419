"""Narrowing of searches to what the caller may see.

Next: ``server/routes/search.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.logic import ALWAYS, NEVER
from tocsin.search.indexes import SEARCHED
from tocsin.server.access.permissions import scope_on
from tocsin.server.request import Caller
from tocsin.store.catalogue.search.results import Search


def narrowed_search(caller: Caller, search: Search) -> Search:
    """Return the search narrowed to what the caller may see: the one place where search asks for permission.

    Types of which the caller may see nothing are left out; of those they may see in part, the index shows that part.
    """
    types = SEARCHED if search.types is None else search.types
    scopes = {name: scope_on(caller, name) for name in types}
    visible_types = tuple(name for name in types if scopes[name] is not NEVER)
    partly = tuple((name, scopes[name]) for name in visible_types if scopes[name] is not ALWAYS)
    return search if visible_types == types and not partly else replace(search, types=visible_types, scopes=partly)

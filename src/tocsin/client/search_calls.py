"""Search of the catalogue, for both clients. Next: ``operations.py``."""

from __future__ import annotations

from tocsin.client.answers import Entity
from tocsin.client.call import ApiCall, query_of
from tocsin.model.entity import Document


def search(query: str, *, index: str = "all", size: int = 10) -> ApiCall[tuple[Entity, ...]]:
    """Return the entities that a search query finds, best match first; ``docs/search.md`` describes queries."""
    parameters = query_of({"q": query, "index": index, "size": size})
    return ApiCall("GET", "search/query", _entities, parameters)


def suggest(name: str, *, index: str = "all", size: int = 10) -> ApiCall[tuple[Entity, ...]]:
    """Return the entities whose names begin so; without any, those whose names differ in one character."""
    return ApiCall("GET", "search/suggest", _entities_of_options, query_of({"q": name, "index": index, "size": size}))


def _entities_of_options(answer: Document) -> tuple[Entity, ...]:
    return _entities({"hits": {"hits": answer["suggest"]["metadata-suggest"][0]["options"]}})


def _entities(answer: Document) -> tuple[Entity, ...]:
    sources = (hit["_source"] for hit in answer["hits"]["hits"])
    return tuple(Entity(source["entityType"], source) for source in sources)

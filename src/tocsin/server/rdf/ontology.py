"""The ontology and shapes that are served: the seeds' ontologies, with what joins them to each other and to upstream's.

Next: ``server/routes/system/rdf.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pyoxigraph import RdfFormat, parse, serialize

from tocsin.model.change import EventType
from tocsin.model.subscription import Category, Channel
from tocsin.server.rdf.answers import convert
from tocsin.server.rdf.formats import Format
from tocsin.server.rdf.vocabulary import BRIDGES, PREFIXES, individual, published_text

_SECOND = {"changeEvent": "om-event", "eventSubscription": "om-events"}


@cache
def ontology(linked_format: Format) -> bytes:
    """Return the ontology in a format of linked data."""
    texts = [published_text(name) for name in ("changeEvent.ttl", "eventSubscription.ttl", "supplement.ttl")]
    return _in_format("\n".join([*texts, *_prefixes(), *_bridges(), *_individuals()]).encode(), linked_format)


@cache
def shapes(linked_format: Format) -> bytes:
    """Return the SHACL shapes of events, alerts and entities in a format of linked data."""
    return _in_format(published_text("shapes.ttl").encode(), linked_format)


def _in_format(turtle: bytes, linked_format: Format) -> bytes:
    if linked_format is not Format.JSON_LD:
        return convert(turtle, RdfFormat.TURTLE, linked_format)
    triples = (quad.triple for quad in parse(turtle, RdfFormat.TURTLE))
    return serialize(triples, format=RdfFormat.JSON_LD, prefixes=PREFIXES) or b""


def _prefixes() -> Iterator[str]:
    return (f"@prefix {name}: <{namespace}> ." for name, namespace in PREFIXES.items())


def _bridges() -> Iterator[str]:
    """Yield that the names of a seed's context mean what those of its ontology do."""
    for seed, names in BRIDGES.items():
        for name in names:
            yield f"om:{name} owl:equivalentProperty {_SECOND[seed]}:{name} ."


def _individuals() -> Iterator[str]:
    """Yield every type of event, category and type of destination, those that the seeds leave out included."""
    for event_type in EventType:
        yield f'om-event:{individual(event_type)} a om-event:EventType ; skos:notation "{event_type}" .'
    for category in Category:
        yield f'om-events:{category} a om-events:SubscriptionCategory ; skos:notation "{category}" .'
    for channel in Channel:
        yield f'om-events:{channel} a om-events:SubscriptionType ; skos:notation "{channel}" .'

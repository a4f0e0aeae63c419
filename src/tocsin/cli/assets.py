"""Lookup of what commands name: users, alerts, and entities without their type, the most likely type first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Annotated

import typer

from tocsin.client import Client, Entity
from tocsin.errors import NotFound, TocsinError
from tocsin.model.entity_type import OWNING
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import beginning_of, name_hint, nearest_by_word

_LIKELIEST_FIRST = ("table", "dashboard", "pipeline", "databaseSchema", "database")
_ASSET_TYPES = tuple(dict.fromkeys((*_LIKELIEST_FIRST, *(name for name, row in ENTITY_TYPES.items() if row.is_asset))))

EVENT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""Tells the id of an event from the name of an asset."""

_HOLDERS = ("user", "team")
_MEANT = "did you mean"
_MOST_SEARCHED = 50
_MOST_OFFERED = 5
_WHOLE = "; give the fully qualified name, as shown on the asset's page."

AssetFqn = Annotated[str, typer.Argument(help="Fully qualified name, e.g. postgres_prod.ecommerce.public.orders.")]
AsUser = Annotated[str | None, typer.Option("--as", help="Name of the user; you if omitted.")]
Why = Annotated[
    str | None, typer.Option("--why", metavar="TEXT", help="Why: kept with the version and shown with the change.")
]
OfType = Annotated[
    str | None, typer.Option("--type", help="Type of the asset; if omitted, common types are tried in turn.")
]


def find_asset(client: Client, fqn: str, entity_type: str | None) -> Entity:
    """Return the asset of that name; ``NotFound`` if there is none of that type, or of any."""
    types = (entity_type,) if entity_type else _ASSET_TYPES
    reads = (partial(client.get_by_name, one, fqn) for one in types)
    return _first(reads, f"{entity_type or 'asset'} {fqn}", fqn, lambda: _similar(client, fqn, types))


def find_followable(client: Client, fqn: str, entity_type: str | None) -> Entity:
    """Return what has that name and people can follow, an asset first; ``NotFound`` if nothing has."""
    types = (entity_type,) if entity_type else (*_ASSET_TYPES, *OWNING)
    reads = (partial(client.get_by_name, one, fqn) for one in types)
    return _first(reads, f"{entity_type or 'asset'} {fqn}", fqn, lambda: _similar(client, fqn, types))


def find_entity(client: Client, fqn: str, entity_type: str | None) -> Entity:
    """Return what has that name, an asset or anything else, softly deleted or not; ``NotFound`` if nothing has."""
    types = (entity_type,) if entity_type else tuple(dict.fromkeys((*_ASSET_TYPES, *ENTITY_TYPES)))
    reads = (partial(client.get_by_name, one, fqn, include="all") for one in types)
    return _first(reads, f"{entity_type or 'entity'} {fqn}", fqn, lambda: _similar(client, fqn, types))


def _first(reads: Iterable[Callable[[], Entity]], noun: str, fqn: str, similar: Callable[[], str]) -> Entity:
    """Return the first entity found; raise ``NotFound``, if possible with a suggestion of the server or its search.

    The server takes what is too long for a name of one type for the name of another: only names of as many parts count.
    Of several types, a name without parents is rather that of what search finds than one like that of anything else.
    """
    errors: list[NotFound] = []
    for read in reads:
        try:
            return read()
        except NotFound as error:
            errors.append(error)
    names = ((error, error.message.partition(_MEANT)[2]) for error in errors)
    suggestion = next((error for error, name in names if name and name.count(".") == fqn.count(".")), None)
    is_guess = len(errors) > 1 and "." not in fqn
    if suggestion is not None and not is_guess:
        raise suggestion
    like_name = f"; {_MEANT}{suggestion.message.partition(_MEANT)[2]}" if suggestion else ""
    raise NotFound(f"{noun} not found{similar() or like_name or _WHOLE}")


def _similar(client: Client, name: str, types: Collection[str], *, index: str = "all") -> str:
    """Return ``; did you mean …?`` with what search finds of these types for a name, assets if any; else nothing.

    What is not found may be misspelt: names that differ in a character, or the nearest of those that begin as it does.
    """
    last_name = name.rpartition(".")[2]
    for text in dict.fromkeys((name, last_name)):
        if entities := _entities_found(partial(client.search, text), types, index):
            return _offer_of(entities)
    if entities := _entities_found(partial(client.suggest, last_name), types, index):
        return _offer_of(entities)
    if beginning := beginning_of(last_name):
        entities = _entities_found(partial(client.search, f"name:{beginning}*"), types, index)
        near_entities = nearest_by_word(last_name, [(str(one.name), one) for one in entities])
        return _offer_of(near_entities) if near_entities else ""
    return ""


def _entities_found(search: Callable[..., Sequence[Entity]], types: Collection[str], index: str) -> list[Entity]:
    """Return what a search finds of these types, assets alone if there are any."""
    try:
        entities = search(index=index, size=_MOST_SEARCHED)
    except TocsinError:  # a name that is no search query, or no index yet: there is no suggestion
        return []
    near = [one for one in entities if one.entity_type in types]
    return [one for one in near if one.entity_type in _ASSET_TYPES] or near


def _offer_of(entities: Iterable[Entity]) -> str:
    names = (one.name if one.entity_type == "user" else one.fully_qualified_name for one in entities)
    return f"; {_MEANT} {' or '.join(islice(names, _MOST_OFFERED))}?"


def find_user(client: Client, name: str | None) -> Entity:
    """Return the user of that name, or without a name the one who is logged in; ``NotFound`` if there is none."""
    if not name:
        return client.logged_in_user()
    try:
        return client.get_by_name("user", name)
    except NotFound as error:
        if _MEANT in error.message:
            raise
        raise NotFound(f"user {name} not found{_similar(client, name, ('user',), index='user')}") from error


def find_holder(client: Client, name: str) -> Entity:
    """Return the user or team of that name; ``NotFound`` if there is none."""
    reads = (partial(client.get_by_name, one, name) for one in _HOLDERS)
    similar_names = (_similar(client, name, (one,), index=one) for one in _HOLDERS)
    return _first(reads, f"user or team {name}", name, lambda: next(filter(None, similar_names), ""))


def find_alert(client: Client, name: str) -> Entity:
    """Return the alert of that name; ``NotFound``, with the nearest name there is, if there is none."""
    try:
        return client.get_subscription(name)
    except NotFound as error:
        names = [str(alert.name) for alert in client.list_subscriptions()]
        raise NotFound(f"alert {name} not found{name_hint(name, names)}") from error

"""``tocsin follow`` and ``tocsin unfollow``: start or stop following an asset."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.assets import AssetFqn, OfType, find_asset
from tocsin.cli.output import AsJson, show_json
from tocsin.client import Client, Entity

AsUser = Annotated[str | None, typer.Option("--as", help="Name of the user; you if omitted.")]


def follow(asset: AssetFqn, *, user: AsUser = None, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """Follow an asset: you are notified in the app of each of its changes.

    Example: tocsin follow postgres_prod.ecommerce.public.orders --as dana.whitlock
    """
    with Client() as client:
        entity, follower = find_asset(client, asset, entity_type), _user(client, user)
        client.add_follower(entity.entity_type, entity.id, follower.id)
    _say(follower, entity, follows=True, as_json=as_json)


def unfollow(asset: AssetFqn, *, user: AsUser = None, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """Stop following an asset."""
    with Client() as client:
        entity, follower = find_asset(client, asset, entity_type), _user(client, user)
        client.remove_follower(entity.entity_type, entity.id, follower.id)
    _say(follower, entity, follows=False, as_json=as_json)


def _user(client: Client, name: str | None) -> Entity:
    return client.get_by_name("user", name) if name else client.logged_in_user()


def _say(follower: Entity, asset: Entity, *, follows: bool, as_json: bool) -> None:
    if as_json:
        facts = {"user": follower.name, "asset": asset.fully_qualified_name, "type": asset.entity_type}
        show_json({**facts, "follows": follows})
        return
    verb = "now follows" if follows else "no longer follows"
    typer.echo(f"{follower.name} {verb} {asset.entity_type} {asset.fully_qualified_name}.")

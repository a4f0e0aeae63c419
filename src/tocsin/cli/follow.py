"""``tocsin follow`` and ``tocsin unfollow``: start or stop following an asset."""

from __future__ import annotations

from tocsin.cli.assets import AssetFqn, AsUser, OfType, find_asset, find_user
from tocsin.cli.output import AsJson, show_text
from tocsin.client import Client, Entity


def follow(asset: AssetFqn, *, user: AsUser = None, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """Follow an asset: you are notified in the app of each of its changes.

    Example: tocsin follow postgres_prod.ecommerce.public.orders --as dana.whitlock
    """
    with Client() as client:
        entity, follower = find_asset(client, asset, entity_type), find_user(client, user)
        client.add_follower(entity.entity_type, entity.id, follower.id)
    _say(follower, entity, follows=True, as_json=as_json)


def unfollow(asset: AssetFqn, *, user: AsUser = None, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """Stop following an asset."""
    with Client() as client:
        entity, follower = find_asset(client, asset, entity_type), find_user(client, user)
        client.remove_follower(entity.entity_type, entity.id, follower.id)
    _say(follower, entity, follows=False, as_json=as_json)


def _say(follower: Entity, asset: Entity, *, follows: bool, as_json: bool) -> None:
    answer = {"user": follower.name, "asset": asset.fully_qualified_name, "type": asset.entity_type, "follows": follows}
    verb = "now follows" if follows else "no longer follows"
    text = f"{follower.name} {verb} {asset.entity_type} {asset.fully_qualified_name}."
    show_text(text, answer=answer, as_json=as_json)

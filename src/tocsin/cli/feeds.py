"""Commands ``tocsin feeds …``: addresses of Atom feeds, for feed readers."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.activity import AroundName, OfType, OfWhat
from tocsin.cli.assets import AsUser, find_entity, find_user
from tocsin.cli.output import AsJson, moment_text, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.errors import InvalidInput

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke addresses of Atom feeds, for feed readers.")

FeedId = Annotated[str, typer.Argument(metavar="ID", help="The id of a feed, as tocsin feeds list shows.")]


@app.command()
def add(name: AroundName = None, *, scope: OfWhat = None, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """Make an address of your feed, or of that of an asset, a domain or a team, and print it once.

    Who has the address reads the feed as you do: keep it as a password. Examples: tocsin feeds add
    · tocsin feeds add --of owned · tocsin feeds add shop --type team
    """
    if name is not None and scope is not None:
        raise InvalidInput("give either a name or --of", field="name")
    with Client() as client:
        who = client.logged_in_user().id
        entity = None if name is None else find_entity(client, name, entity_type)
        if entity is None:
            answer = client.open_feed(who, scope=scope)
        else:
            answer = client.open_feed(who, entity_type=entity.entity_type, entity_id=entity.id)
    show_text(answer["url"], answer=answer, as_json=as_json)


@app.command("list")
def list_feeds(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """List the feeds that have an address; the addresses are not shown again."""
    with Client() as client:
        feeds = client.feeds(find_user(client, user).id)
        zone = own_zone(client, is_shown=not as_json)
    feed_rows = ({"id": one["id"], "feed": one["feed"], "since": moment_text(one["created"], zone)} for one in feeds)
    show_rows(feed_rows, answer=list(feeds), as_json=as_json)


@app.command()
def revoke(feed_id: FeedId, *, user: AsUser = None, as_json: AsJson = False) -> None:
    """Revoke the address of a feed: it opens nothing from now on."""
    with Client() as client:
        answer = client.revoke_feed(find_user(client, user).id, feed_id)
    show_text(f"Feed {feed_id} has no address any more.", answer=answer, as_json=as_json)

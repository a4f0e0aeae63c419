"""``tocsin conversations``: what people say to each other about assets: list, show, start, reply, react, resolve."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import OfType, find_asset
from tocsin.cli.output import AsJson, moment_text, names_of, show_facts, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.delivery.lines import cut
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.mentions import plain
from tocsin.model.phrases import in_words

app = typer.Typer(help="Conversations about assets.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a conversation, as tocsin conversations list shows.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to say; <#E::user::ben> mentions Ben.")]
_LONGEST = 100


class Concern(StrEnum):
    """How conversations concern the person who lists them."""

    MENTIONS = "mentions"
    OWNED = "owned"
    FOLLOWING = "following"


_FILTERS = {Concern.MENTIONS: "MENTIONS", Concern.OWNED: "OWNER", Concern.FOLLOWING: "FOLLOWS"}


@app.command("list")
def list_conversations(
    *,
    about: Annotated[str | None, typer.Option(help="Only about this asset and its columns.")] = None,
    concern: Annotated[
        Concern | None, typer.Option("--of", help="Only those that mention you, or about what you own or follow.")
    ] = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Those that are resolved, not the open ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of conversations.")] = 20,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """List open conversations, last changed first.

    Examples: tocsin conversations list --of mentions
    · tocsin conversations list --about postgres_prod.ecommerce.public.orders
    """
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        filters: dict[str, str | bool] = {"resolved": resolved} if resolved else {}
        if about is not None:
            entity = find_asset(client, about, entity_type)
            link = EntityLink(entity.entity_type, entity.fully_qualified_name)
            filters |= {"entity_link": str(link), "include_fields": True}
        if concern is not None:
            filters |= {"user_id": client.logged_in_user().id, "filter_type": _FILTERS[concern]}
        conversations = list(islice(client.list_conversations(**filters), limit))
    show_rows((_row(one, zone) for one in conversations), answer=conversations, as_json=as_json)


@app.command()
def show(conversation: Id, *, as_json: AsJson = False) -> None:
    """Show a conversation with all replies and reactions."""
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        document = client.get_conversation(conversation)
        replies = list(client.list_replies(conversation))
    show_facts({**document, "replies": replies} if as_json else _facts(document, replies, zone), as_json=as_json)


@app.command()
def start(
    asset: Annotated[str, typer.Argument(help="Fully qualified name of the asset.")],
    text: Text,
    *,
    column: Annotated[str | None, typer.Option(help="The column that is meant; the asset if omitted.")] = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Start a conversation about an asset or a column: its owners, and whom you mention, are told by their preferences.

    Example: tocsin conversations start postgres_prod.ecommerce.public.orders "Is this still filled?" --column email
    """
    with Client() as client:
        entity = find_asset(client, asset, entity_type)
        link = EntityLink(entity.entity_type, entity.fully_qualified_name, _steps(column))
        document = client.converse(str(link), text)
    show_text(f"Conversation {document['id']} has begun.", answer=document, as_json=as_json)


@app.command()
def reply(conversation: Id, text: Text, *, as_json: AsJson = False) -> None:
    """Reply to a conversation."""
    with Client() as client:
        document = client.reply_to_conversation(conversation, text)
    show_text(f"You have replied to {conversation}.", answer=document, as_json=as_json)


@app.command()
def react(
    conversation: Id,
    reaction: Annotated[str, typer.Argument(metavar="REACTION", help="thumbsUp, heart, hooray, laugh, eyes, …")],
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take your reaction back.")] = False,
    as_json: AsJson = False,
) -> None:
    """React to a conversation, or take that back.

    Example: tocsin conversations react 0199c6f2-7c00-7000-8000-000000000009 thumbsUp
    """
    with Client() as client:
        change = client.take_back_reaction if undo else client.react_to_conversation
        document = change(conversation, reaction)
    show_text(f"{conversation} has {_reactions_text(document) or 'no reactions'}.", answer=document, as_json=as_json)


@app.command()
def resolve(conversation: Id, *, as_json: AsJson = False) -> None:
    """Mark a conversation as resolved: whom it mentions no longer have it among what needs them."""
    with Client() as client:
        document = client.resolve_conversation(conversation)
    show_text(f"{conversation} is resolved.", answer=document, as_json=as_json)


def _steps(column: str | None) -> tuple[str, ...]:
    return ("columns", column) if column else ()


def _row(conversation: Document, zone: str) -> Document:
    return {
        "time": moment_text(conversation["updatedAt"], zone),
        "about": conversation["entityRef"].get("fullyQualifiedName") or conversation["about"],
        "by": _author(conversation.get("createdBy")),
        "says": cut(plain(conversation["message"]), limit=_LONGEST),
        "replies": conversation["replyCount"],
        "id": conversation["id"],
    }


def _facts(conversation: Document, replies: list[Document], zone: str) -> Document:
    """Return what is shown of a conversation; what it has not is left out."""
    facts = {
        "about": conversation["entityRef"].get("fullyQualifiedName") or conversation["about"],
        "by": _author(conversation.get("createdBy")),
        "began": moment_text(conversation["createdAt"], zone),
        "says": plain(conversation["message"]),
        "state": "resolved" if conversation["resolved"] else "open",
        "reactions": _reactions_text(conversation),
        "replies": "\n".join(_reply_text(one, zone) for one in replies),
        "id": conversation["id"],
    }
    return {key: value for key, value in facts.items() if value}


def _reply_text(document: Document, zone: str) -> str:
    reactions = _reactions_text(document)
    signature = f"{_author(document.get('author'))}, {moment_text(document['createdAt'], zone)}"
    return f"{signature}: {plain(document['message'])}{f' ({reactions})' if reactions else ''}"


def _author(reference: Document | None) -> str:
    """Return who says something; of a person whom one may not view, nothing is known."""
    return names_of([reference]) if reference and reference.get("name") else "a person whom you may not view"


def _reactions_text(document: Document) -> str:
    """Return the reactions in words: ``2 thumbs up, 1 heart``."""
    kinds = [str(one["reactionType"]) for one in document["reactions"]]
    return ", ".join(f"{kinds.count(kind)} {in_words(kind)}" for kind in dict.fromkeys(kinds))

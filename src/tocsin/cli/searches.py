"""Commands ``tocsin searches …``: searches that are saved, shared by their ids, and followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, printable, show_rows, show_text
from tocsin.client import Client
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

app = typer.Typer(no_args_is_help=True, help="Save searches, share them by their ids, and follow what they find.")

SearchId = Annotated[str, typer.Argument(metavar="ID", help="The id of a saved search, as tocsin searches list shows.")]


@app.command()
def save(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A search, e.g. 'tag:PII.Sensitive'.")],
    *,
    name: Annotated[str | None, typer.Option("--name", help="What you call it; default: the query.")] = None,
    index: Annotated[str, typer.Option("--type", help="What it searches: all, or a type such as table.")] = "all",
    follow: Annotated[bool, typer.Option("--follow", help="Be notified of changes of what it finds.")] = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Save a search.

    Example: tocsin searches save 'domain:Finance tier:Tier.Tier1' --name Finance --follow
    """
    optional = {"name": name} if name is not None else {}
    with Client() as client:
        answer = client.save_search(find_user(client, user).id, query=query, index=index, follows=follow, **optional)
    _show(answer, as_json=as_json)


@app.command()
def copy(search_id: SearchId, *, user: AsUser = None, as_json: AsJson = False) -> None:
    """Save a search that another person has shared, and follow it."""
    with Client() as client:
        answer = client.save_search(find_user(client, user).id, original=search_id, follows=True)
    _show(answer, as_json=as_json)


@app.command("list")
def list_searches(*, user: AsUser = None, as_json: AsJson = False) -> None:
    """List the searches that you have saved."""
    with Client() as client:
        searches = client.saved_searches(find_user(client, user).id)
    show_rows(_rows(searches), answer=list(searches), as_json=as_json)


@app.command()
def show(search_id: SearchId, *, as_json: AsJson = False) -> None:
    """Show a saved search, yours or one that was shared with you, and how much it finds now."""
    with Client() as client:
        answer = client.saved_search(search_id)
    _show(answer, as_json=as_json)


@app.command()
def follow(search_id: SearchId, *, as_json: AsJson = False) -> None:
    """Be notified in the app of changes of what a search finds."""
    with Client() as client:
        answer = client.follow_search(search_id)
    _show(answer, as_json=as_json)


@app.command()
def unfollow(search_id: SearchId, *, as_json: AsJson = False) -> None:
    """Be notified of it no longer; the search stays."""
    with Client() as client:
        answer = client.follow_search(search_id, follows=False)
    _show(answer, as_json=as_json)


@app.command()
def delete(search_id: SearchId, *, as_json: AsJson = False) -> None:
    """Delete a saved search, and with it its follow."""
    with Client() as client:
        answer = client.delete_search(search_id)
    show_text(printable(f"Deleted saved search {answer['name']}."), answer=answer, as_json=as_json)


def _rows(searches: Iterable[Document]) -> Iterable[Document]:
    for search in searches:
        shown_keys = ("id", "name", "query", "index")
        yield {key: search[key] for key in shown_keys} | {"followed": "yes" if search["follows"] else "no"}


def _show(answer: Document, *, as_json: bool) -> None:
    search = answer["search"]
    state = "is followed" if search["follows"] else "is not followed"
    text = (
        f"{search['id']}: {search['name']} ({search['query']}) finds {count_text(answer['found'], 'asset')}, {state}."
    )
    show_text(printable(text), answer=answer, as_json=as_json)

"""``tocsin tasks``: what people ask of each other about assets: list, show, create, decide, comment."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import OfType, find_asset, find_entity, find_holder
from tocsin.cli.output import AsJson, moment_text, names_of, show_facts, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.phrases import count_text, in_words

app = typer.Typer(help="Tasks about assets: describe it, tag it, approve it.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="TASK", help="Number, e.g. TASK-00007, TASK-7 or 7.")]
Comment = Annotated[str | None, typer.Option(help="Why; shown with the task.")]


@app.command("list")
def list_tasks(
    *,
    is_mine: Annotated[bool, typer.Option("--mine", help="Only those assigned to you or to a team of yours.")] = False,
    assignee: Annotated[str | None, typer.Option(help="Name of a user or team.")] = None,
    about: Annotated[str | None, typer.Option(help="Fully qualified name of an asset.")] = None,
    status: Annotated[str, typer.Option(help="open, closed or all.")] = "open",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of tasks.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks and incidents of tests, last changed first; by default the open ones.

    Example: tocsin tasks list --mine
    """
    if is_mine and assignee:
        raise InvalidInput("Give --mine or --assignee.")
    with Client() as client:
        view, group = "assigned" if is_mine else None, None if status == "all" else status
        filters = {"status_group": group, "assignee": assignee, "about_entity": about}
        tasks = list(islice(client.list_tasks(view, **filters), limit))
        if not tasks and assignee:
            find_holder(client, assignee)
        if not tasks and about:
            find_entity(client, about, None)
    show_rows((_row(one) for one in tasks), answer=tasks, as_json=as_json)


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show a task: what it asks for, its assignees, what it suggests, what may be done, and the comments."""
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        task = client.get_task(name)
    facts = task if as_json else _facts(task, zone)
    show_facts(facts, as_json=as_json)


@app.command()
def create(
    asset: Annotated[str, typer.Argument(help="Fully qualified name of the asset.")],
    *,
    column: Annotated[str | None, typer.Option(help="The column that is meant; the asset if omitted.")] = None,
    message: Annotated[str, typer.Option(help="What is asked.")] = "Please describe it.",
    suggest: Annotated[str | None, typer.Option(help="The description that you suggest.")] = None,
    assignee: Annotated[list[str] | None, typer.Option(help="User or team; the owners if omitted.")] = None,
    priority: Annotated[str, typer.Option(help="Critical, High, Medium or Low.")] = "Medium",
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Ask for the description of an asset or a column, or suggest one.

    Example: tocsin tasks create postgres_prod.ecommerce.public.orders --column email --assignee dana
    """
    with Client() as client:
        entity = find_asset(client, asset, entity_type)
        link = EntityLink(entity.entity_type, asset, ("columns", column) if column else ())
        request: Document = {"category": "MetadataUpdate", "type": "DescriptionUpdate", "about": str(link)}
        request |= {"description": message, "assignees": assignee, "priority": priority}
        task = client.create_task(request | ({"payload": {"newDescription": suggest}} if suggest else {}))
    text = f"{task['taskId']} is for {names_of(task['assignees'])}."
    show_text(text, answer=task, as_json=as_json)


@app.command()
def approve(
    name: Name,
    *,
    value: Annotated[str | None, typer.Option(help="What is written; what the task suggests if omitted.")] = None,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Approve a task: its description or tags are written, its glossary term is approved."""
    _decide(name, "approve", comment, as_json=as_json, value=value)


@app.command()
def reject(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Reject a task: nothing is written; a glossary term is rejected."""
    _decide(name, "reject", comment, as_json=as_json)


@app.command()
def complete(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Complete a task."""
    _decide(name, "complete", comment, as_json=as_json)


@app.command()
def cancel(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Cancel a task: nothing is written."""
    _decide(name, "cancel", comment, as_json=as_json)


@app.command()
def reopen(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Reopen a task that was not approved."""
    _decide(name, "reopen", comment, as_json=as_json)


@app.command("comment")
def add_comment(
    name: Name, text: Annotated[str, typer.Argument(help="What to say.")], *, as_json: AsJson = False
) -> None:
    """Add a comment to a task."""
    with Client() as client:
        task = client.comment_on_task(client.get_task(name)["id"], text)
    show_text(f"{_name(task)} has {count_text(task['commentCount'], 'comment')}.", answer=task, as_json=as_json)


def _decide(name: str, transition: str, comment: str | None, *, as_json: bool, value: str | None = None) -> None:
    with Client() as client:
        task_id = client.get_task(name)["id"]
        task = client.resolve_task(task_id, transition, comment=comment, new_value=value)
    show_text(f"{_name(task)} is {in_words(task['status'])}.", answer=task, as_json=as_json)


def _row(task: Document) -> Document:
    return {
        "task": _name(task),
        "status": task["status"],
        "priority": task["priority"],
        "type": in_words(task["type"]),
        "about": task["about"]["fullyQualifiedName"],
        "for": names_of(task["assignees"]),
    }


def _facts(task: Document, zone: str) -> Document:
    """Return what is shown of a task; what it has not is left out."""
    payload, resolution = task.get("payload") or {}, task.get("resolution") or {}
    comments = [f"{names_of([one['author']])}: {one['message']}" for one in task.get("comments") or ()]
    facts = {
        **_row(task),
        "asks": task.get("description"),
        "by": names_of([task["createdBy"]]) if "createdBy" in task else None,
        "created": moment_text(task["createdAt"], zone),
        "due": moment_text(task["dueDate"], zone) if "dueDate" in task else None,
        "field": payload.get("fieldPath"),
        "suggests": payload.get("newDescription") or payload.get("suggestedValue"),
        "closed by": names_of([resolution["resolvedBy"]]) if resolution.get("resolvedBy") else None,
        "because": resolution.get("comment"),
        "next": ", ".join(one["id"] for one in task.get("availableTransitions") or ()),
        "comments": "\n".join(comments),
    }
    return {key: value for key, value in facts.items() if value}


def _name(task: Document) -> str:
    """Return what a task is called: its number; an incident of a test has its id."""
    return str(task.get("taskId") or task["id"])

"""``tocsin impact``: the downstream assets and owners that a change would affect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from tocsin.cli.assets import EVENT_ID, OfType, find_asset
from tocsin.cli.output import AsJson, names_of, show_lines
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, in_words

Subject = Annotated[
    str, typer.Argument(metavar="ASSET", help="Fully qualified name of an asset, or id of a change event.")
]
Depth = Annotated[int, typer.Option(min=1, max=50, help="Maximum number of levels downstream.")]
Columns = Annotated[str | None, typer.Option(help="Only these columns, separated by commas.")]


def impact(
    subject: Subject, *, entity_type: OfType = None, depth: Depth = 5, columns: Columns = None, as_json: AsJson = False
) -> None:
    """Show everything downstream of an asset, with owners.

    Examples
    tocsin impact postgres_prod.ecommerce.public.orders --columns total_cents
    tocsin impact EVENT-ID
    """
    with Client() as client:
        answer = _query_impact(client, subject, entity_type, depth=depth, columns=columns)
    show_lines((*_lines(answer), Text(_summary(answer))), answer=answer, as_json=as_json)


def _query_impact(
    client: Client, subject: str, entity_type: str | None, *, depth: int, columns: str | None
) -> Document:
    if EVENT_ID.fullmatch(subject):
        if columns:
            raise InvalidInput(
                "--columns cannot be used with an event, which determines the columns itself.", field="columns"
            )
        return client.event_impact(subject, depth=depth)
    asset = find_asset(client, subject, entity_type)
    column_names = [name for name in (columns or "").split(",") if name]
    return client.impact(asset.entity_type, asset.fully_qualified_name, depth=depth, columns=column_names)


def _lines(answer: Document) -> Iterator[Text]:
    """Yield a line for each asset, below the one it is made from."""
    below: dict[str, list[Document]] = {}
    groups: dict[str, list[Document]] = answer["affected"]
    assets = sorted((one for group in groups.values() for one in group), key=_place)
    asset_ids = {answer["entity"]["id"], *(asset["id"] for asset in assets)}
    for asset in assets:
        above = str((asset.get("via") or {}).get("id"))
        below.setdefault(above if above in asset_ids else answer["entity"]["id"], []).append(asset)
    yield _asset_text(answer["entity"])
    yield from _branch(below, answer["entity"]["id"], "")


def _branch(below: dict[str, list[Document]], entity_id: str, indent: str) -> Iterator[Text]:
    assets = below.get(entity_id, [])
    for asset in assets:
        is_last = asset is assets[-1]
        yield Text(f"{indent}{'└── ' if is_last else '├── '}").append_text(_line(asset))
        yield from _branch(below, asset["id"], f"{indent}{'    ' if is_last else '│   '}")


def _place(asset: Document) -> tuple[int, str]:
    return asset["level"], asset["fullyQualifiedName"]


def _asset_text(asset: Document) -> Text:
    return Text.assemble((f"{asset['type']} ", "cyan"), (asset["fullyQualifiedName"], "bold"))


def _line(asset: Document) -> Text:
    line = _asset_text(asset)
    if asset.get("affectedColumns"):
        start = f"{asset['fullyQualifiedName']}."
        line.append(f"  columns {', '.join(name.removeprefix(start) for name in asset['affectedColumns'])}")
    elif asset.get("basis") == "table":
        line.append("  column lineage unknown", style="dim")
    line.append(f"  owners: {names_of(asset['owners'])}" if asset["owners"] else "  no owner", style="dim")
    return line


def _summary(answer: Document) -> str:
    counts, people = answer["counts"], answer["people"]
    if not counts["total"]:
        return "Nothing is downstream of it."
    kinds = ", ".join(
        count_text(len(assets), in_words(assets[0]["type"]), in_words(group))
        for group, assets in answer["affected"].items()
        if assets
    )
    note = " The result is truncated." if answer["truncated"] else ""
    concerned = f"{count_text(people['owners'], 'owner')}, {count_text(people['followers'], 'follower')}."
    return f"{count_text(counts['total'], 'asset')}: {kinds}. {concerned}{note}"

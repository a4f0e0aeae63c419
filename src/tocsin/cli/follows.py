"""Commands ``follow``, ``unfollow`` and ``follows``: one asset, several, all that a search finds, and the list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import typer

from tocsin.chunks import chunks_of
from tocsin.cli.assets import AsUser, OfType, find_followable, find_user
from tocsin.cli.exit_codes import FAULT
from tocsin.cli.output import AsJson, printable, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.cli.preference_tables import OverChannel, choices_text, follow_choices
from tocsin.cli.progress import progress_bar, waiting_for
from tocsin.client import Client, Entity
from tocsin.delivery.lines import moment_text
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.follow_review import Review

_NAMES_PER_REQUEST = 100
"""Assets that one request changes, so that the bar moves."""

Assets = Annotated[
    list[str] | None,
    typer.Argument(metavar="ASSET…", help="Fully qualified names, e.g. postgres_prod.ecommerce.public.orders."),
]
Query = Annotated[
    str | None,
    typer.Option("--query", metavar="QUERY", help="All that a search finds, e.g. 'tag:PII.Sensitive'."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing: count the assets and list the first.")]
OfColumn = Annotated[
    str | None, typer.Option("--column", metavar="NAME", help="Only this column of each asset, and its tests.")
]
OfKinds = Annotated[
    list[str] | None,
    typer.Option("--kinds", metavar="KIND,…", help="Of which kinds of change it tells (`tocsin kinds`); default: all."),
]
Frequent = Annotated[
    str | None,
    typer.Option(
        "--frequency",
        help="How often: immediate, hourly, daily, 'daily 08:30', 'weekly friday', never; default: as you prefer else.",
    ),
]
ToReview = Annotated[
    Review | None,
    typer.Option(
        "--review",
        help="stale: nothing has happened for 180 days; noisy: you were told often and read nothing; gone: deleted;"
        " expiring: ends soon, because you do not use it.",
    ),
]
ToKeep = Annotated[
    str | None,
    typer.Option("--review", metavar="expiring", help="Keep what you follow and is about to end, because it is idle."),
]
Sort = Annotated[str, typer.Option("--sort", metavar="FIELD", help="name, lastChange, lastOpened, since or told.")]
Containing = Annotated[str | None, typer.Option("--containing", metavar="TEXT", help="What the names contain.")]
OnlyType = Annotated[str | None, typer.Option("--type", help="Only assets of this type.")]
MostFollows = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of assets.")]
OfTeam = Annotated[
    str | None,
    typer.Option("--team", metavar="TEAM", help="What the members of a team follow by default, for its owners."),
]
Change = Callable[..., Document]
"""``Client.follow_assets``, ``Client.unfollow_assets``, or one of them for a team."""


@dataclass(frozen=True)
class _Follower:
    """Who follows: a user, or the members of a team by default."""

    client: Client
    entity: Entity
    is_team: bool

    def change(self, *, follows: bool) -> Change:
        """Return what changes what they follow."""
        if self.is_team:
            return self.client.follow_for_team if follows else self.client.unfollow_for_team
        return self.client.follow_assets if follows else self.client.unfollow_assets


def follow(  # noqa: PLR0913  # each option of the command is a parameter
    assets: Assets = None,
    *,
    query: Query = None,
    column: OfColumn = None,
    review: ToKeep = None,
    kinds: OfKinds = None,
    channel: OverChannel = None,
    frequency: Frequent = None,
    dry_run: DryRun = False,
    user: AsUser = None,
    team: OfTeam = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Follow assets: you are notified in the app of each of their changes.

    --kinds, --channel and --frequency say what a follow tells of, also one that you have: of nothing but these kinds,
    over these channels alone, so often. That counts for what you are told of because of this follow, above `tocsin
    kinds`; --frequency default takes it back. With --team all its members follow them by default; each may unfollow
    them.

    Examples: tocsin follow postgres_prod.ecommerce.public.orders --as dana.whitlock
    · tocsin follow postgres_prod.ecommerce.public.orders --frequency immediate
    · tocsin follow postgres_prod.ecommerce.public.orders --kinds columns,testFailure --channel email --frequency daily
    · tocsin follow --query 'domain:Finance AND tier:Tier.Tier1' --type table --dry-run
    """
    _check_selection(assets, query, review)
    choices = follow_choices(kinds or [], channel or [], frequency)
    _check_follower(user, team, column or review or (None if choices is None else "frequency"))
    if assets and len(assets) == 1 and not dry_run and team is None and choices is None:
        _change_one((assets[0], column), user, entity_type, follows=True, as_json=as_json)
    else:
        selection = _selection(query, entity_type, column, dry_run=dry_run)
        selection |= {"review": review} if review else {}
        selection |= {} if choices is None else {"preferences": choices}
        _change_many(assets or [], (user, team), selection, follows=True, as_json=as_json)


def unfollow(  # noqa: PLR0913  # each option of the command is a parameter
    assets: Assets = None,
    *,
    query: Query = None,
    column: OfColumn = None,
    review: ToReview = None,
    containing: Containing = None,
    dry_run: DryRun = False,
    user: AsUser = None,
    team: OfTeam = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Stop following assets, or a column of each, also where you follow them by default of a team.

    --query, --review and --containing select among what you follow.
    """
    _check_selection(assets, query, review or containing)
    _check_follower(user, team, column or (review and review.value))
    if column and (review or containing):
        raise InvalidInput("--review and --containing select columns with the rest.", field="column")
    if assets and len(assets) == 1 and not dry_run and team is None:
        _change_one((assets[0], column), user, entity_type, follows=False, as_json=as_json)
    else:
        selection = _selection(query, entity_type, column, dry_run=dry_run)
        selection |= ({"review": review.value} if review else {}) | ({"q": containing} if containing else {})
        _change_many(assets or [], (user, team), selection, follows=False, as_json=as_json)


def follows(
    *,
    review: ToReview = None,
    containing: Containing = None,
    sort: Sort = "name",
    limit: MostFollows = 100,
    user: AsUser = None,
    team: OfTeam = None,
    entity_type: OnlyType = None,
    as_json: AsJson = False,
) -> None:
    """List what you follow: since when, its last change, and how often it has told you.

    Examples: tocsin follows --sort told · tocsin follows --review stale, then tocsin unfollow --review stale
    """
    if team is not None:
        _check_follower(user, team)
        _show_team(team, as_json=as_json)
        return
    filters: dict[str, str | None] = {"review": review and review.value, "type": entity_type, "q": containing}
    with Client() as client:
        assets = client.followed_assets(find_user(client, user).id, sort_field=sort, **filters)
        entries, zone = list(islice(assets, limit)), own_zone(client, is_shown=not as_json)
    optional_keys = {key for entry in entries for key in ("team", "preferences") if key in entry}
    follow_rows = (_follow_row(entry, zone, optional_keys) for entry in entries)
    show_rows(follow_rows, answer=entries, as_json=as_json)


def _show_team(name: str, *, as_json: bool) -> None:
    """List what the members of a team follow by default."""
    with Client() as client:
        entries = client.team_follows(client.get_by_name("team", name).id)
        zone = own_zone(client, is_shown=not as_json)
    team_rows = (
        {"type": entry["asset"]["type"], "asset": _name_of(entry), "since": _day(entry["since"], zone)}
        for entry in entries
    )
    show_rows(team_rows, answer=list(entries), as_json=as_json)


def _follow_row(entry: Document, zone: str, optional_keys: Collection[str]) -> Document:
    """Return the row of a follow; of ``optional_keys`` some row has something to show."""
    change, told_count = entry["lastChange"], entry["told"]
    return {
        "type": entry["asset"]["type"],
        "asset": _name_of(entry) + (" (deleted)" if entry["deleted"] else ""),
        **({"by team": entry["team"]["name"] if "team" in entry else ""} if "team" in optional_keys else {}),
        **({"tells of": choices_text(entry.get("preferences", {}))} if "preferences" in optional_keys else {}),
        "since": _day(entry.get("since"), zone),
        "last change": f"{_day(change['timestamp'], zone)} (version {change['version']})",
        "told": told_count["count"],
        "unread": told_count["unread"],
        "last read": _day(entry.get("lastOpened"), zone),
        **({"ends": _day(entry["expires"], zone)} if "expires" in entry else {}),
    }


def _name_of(entry: Document) -> str:
    fqn: str = entry["asset"]["fullyQualifiedName"]
    return f"{fqn}.{entry['column']}" if "column" in entry else fqn


def _day(at_ms: int | None, zone: str) -> str:
    return "" if at_ms is None else moment_text(at_ms, zone, form="%Y-%m-%d")


def _check_selection(assets: Sequence[str] | None, query: str | None, listed: str | None = None) -> None:
    if sum((bool(assets), query is not None, listed is not None)) != 1:
        raise InvalidInput("Give names of assets, or one option that selects them, such as --query.", field="asset")


def _check_follower(user: str | None, team: str | None, personal: str | None = None) -> None:
    """Refuse --team beside what is of a person."""
    if team is not None and (user is not None or personal is not None):
        options = "--as, --column, --kinds, --channel, --frequency, --review"
        raise InvalidInput(f"--team goes with none of {options}.", field="team")


def _selection(query: str | None, entity_type: str | None, column: str | None, *, dry_run: bool) -> Document:
    """Return what selects beside names: a search, perhaps of one type, or the type of the names; a column of each."""
    selection: Document = {"dry_run": dry_run} | ({"column": column} if column is not None else {})
    if query is not None:
        selection["query"] = query
    if entity_type is not None:
        selection["type" if query is None else "index"] = entity_type
    return selection


def _change_one(
    target: tuple[str, str | None], user: str | None, entity_type: str | None, *, follows: bool, as_json: bool
) -> None:
    """Let a person follow an asset, or one column of it, or no longer, and say so."""
    name, column = target
    with Client() as client:
        asset, follower = find_followable(client, name, entity_type), find_user(client, user)
        change = client.add_follower if follows else client.remove_follower
        is_new = change(asset.entity_type, asset.id, follower.id, column=column)
    answer = {"user": follower.name, "asset": asset.fully_qualified_name, "type": asset.entity_type, "follows": follows}
    answer |= {"column": column} if column else {}
    of_column = f"column {column} of " if column else ""
    if is_new:
        verb = "now follows" if follows else "no longer follows"
    else:
        verb = "follows already:" if follows else "does not follow"
    text = f"{follower.name} {verb} {of_column}{asset.entity_type} {asset.fully_qualified_name}."
    show_text(text, answer=answer, as_json=as_json)


def _change_many(
    names: Sequence[str],
    follower: tuple[str | None, str | None],
    selection: Document,
    *,
    follows: bool,
    as_json: bool,
) -> None:
    """Let a person or team follow the assets of these names or a selection, or no longer, and show the outcome."""
    user, team = follower
    with Client() as client:
        entity = find_user(client, user) if team is None else client.get_by_name("team", team)
        change = _Follower(client, entity, is_team=team is not None).change(follows=follows)
        answers = _send(change, entity.id, names, selection)
    _show_many(answers, entity, choices_text(selection.get("preferences") or {}), as_json=as_json)


def _send(change: Change, user_id: str, names: Sequence[str], selection: Document) -> list[Document]:
    """Send the requests that change follows, with a bar where there are several; return the answers."""
    if not names:
        with waiting_for("Changing what is followed"):
            return [change(user_id, **selection)]
    answers: list[Document] = []
    with progress_bar("Changing what is followed") as report:
        for count, portion in enumerate(chunks_of(names, _NAMES_PER_REQUEST)):
            report(count * _NAMES_PER_REQUEST, len(names))
            answers.append(change(user_id, names=portion, **selection))
    return answers


def _show_many(answers: Sequence[Document], follower: Entity, choices: str, *, as_json: bool) -> None:
    """Print what became of each asset, and of what follows tell; exit with a fault if one was refused.

    ``choices`` says in short what was chosen for them; empty for nothing.
    """
    outcomes = [one for answer in answers for key in ("successRequest", "failedRequest") for one in answer[key]]
    show_rows(map(_outcome_row, outcomes), answer=list(answers), as_json=as_json)
    passed_count, failed_count = (
        sum(answer[f"numberOfRows{key}"] for answer in answers) for key in ("Passed", "Failed")
    )
    last_answer = answers[-1]
    follows = "lets its members follow" if follower.entity_type == "team" else "follows"
    counts = f"{passed_count} passed, {failed_count} refused; {follower.name} {follows} {last_answer['followCount']:,}"
    typer.echo(f"{counts}{' (dry run: nothing is changed)' if last_answer['dryRun'] else ''}.", err=True)
    if last_answer.get("advice"):
        typer.echo(printable(last_answer["advice"]), err=True)
    if choices and passed_count:
        typer.echo(printable(f"{'They tell' if passed_count > 1 else 'It tells'} of: {choices}."), err=True)
    for remark in last_answer.get("remarks", ()):
        typer.echo(printable(f"! {remark}"), err=True)
    if failed_count:
        raise typer.Exit(FAULT)


def _outcome_row(outcome: Document) -> Document:
    request = outcome["request"]
    if not isinstance(request, dict):
        return {"type": "", "asset": request, "result": outcome["message"]}
    return {
        "type": request["type"],
        "asset": ".".join(filter(None, (request["fullyQualifiedName"], request.get("column")))),
        "result": outcome["message"],
    }

"""Commands ``inbox`` and ``mark``: the notifications of a person, and their states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import orjson
import typer

from tocsin.chunks import chunks_of
from tocsin.cli.assets import AsUser, find_alert, find_entity, find_user
from tocsin.cli.output import AsJson, moment_text, say_there_are_more, show_facts, show_rows, show_text
from tocsin.cli.own_zone import zone_of
from tocsin.cli.personal import end_after
from tocsin.client import Client, Notice
from tocsin.client.call import Filter
from tocsin.clock import SystemClock
from tocsin.delivery.wording.reports import span_text
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.inbox import MOST_COUNTED, MOST_RESTORED, Mark, SnoozeEnd, Tab
from tocsin.model.notification import ReasonKind
from tocsin.model.phrases import count_text
from tocsin.server.alerts.time_arguments import moment

_DETAILS = "severity,runbooks,failingRows,failure,incident"

Unread = Annotated[bool, typer.Option("--unread", help="Leave out what was read.")]
OfTab = Annotated[Tab, typer.Option("--tab", help="What is listed; all: what is neither done nor snoozed.")]
MostNotices = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of notifications.")]


OfKinds = Annotated[
    list[str] | None, typer.Option("--kind", help="Only these kinds of change (tocsin kinds), with commas.")
]
OfReasons = Annotated[
    list[ReasonKind] | None, typer.Option("--reason", help="Only what you are told for this reason. May be repeated.")
]
OfAsset = Annotated[
    str | None, typer.Option("--asset", metavar="ASSET", help="Only of this asset, its tests and conversations.")
]
OfAlert = Annotated[str | None, typer.Option("--alert", metavar="NAME", help="Only what this alert told you of.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Only what this person or bot did.")]
Since = Annotated[str | None, typer.Option("--since", help="Only what happened since then: 7d ago, or a date.")]
Before = Annotated[str | None, typer.Option("--before", help="Only what happened until then: 7d ago, or a date.")]
Search = Annotated[str | None, typer.Option("--search", metavar="WORDS", help="Only what says all these words.")]


NeedsMe = Annotated[
    bool | None,
    typer.Option("--needs-me/--for-information", help="Only what needs you until it is done, or only the rest."),
]
OfCause = Annotated[
    str | None, typer.Option("--cause", metavar="ID", help="Only what this cause had (tocsin inbox --by-cause).")
]
ByCause = Annotated[
    bool, typer.Option("--by-cause", help="List the causes: runs, edits of neighbours, failures with what is below.")
]
ByAsset = Annotated[bool, typer.Option("--by-asset", help="List the assets, each with how many it has.")]
Counts = Annotated[
    bool, typer.Option("--counts", help="Only how many there are: by tab, needing you, and by kind of change.")
]
_MOST_GROUPS = 100
_STATES_AT_ONCE = 100


def inbox(  # noqa: PLR0913  # each option of the command is a parameter
    *,
    tab: OfTab = Tab.ALL,
    unread: Unread = False,
    kind: OfKinds = None,
    reason: OfReasons = None,
    asset: OfAsset = None,
    alert: OfAlert = None,
    by: By = None,
    since: Since = None,
    before: Before = None,
    search: Search = None,
    cause: OfCause = None,
    needs_me: NeedsMe = None,
    by_cause: ByCause = False,
    by_asset: ByAsset = False,
    counts: Counts = False,
    limit: MostNotices = 20,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """List your notifications, unread first.

    Of failures it says how bad they are, since when and how often in a row, their incident, what is to be done, and
    which rows failed a test, as far as you may see them.

    Examples: tocsin inbox --by-cause · tocsin inbox --needs-me · tocsin inbox --counts
    · tocsin inbox --kind testFailure --since 7d · tocsin inbox --asset postgres_prod.ecommerce.public.orders
    """
    shown_tab = Tab.UNREAD if unread else tab
    with Client() as client:
        who = find_user(client, user).id
        choice = _Choice(kind, reason, asset, alert, by, since, before, search, cause, needs_me)
        if counts:
            if any(one is not None for one in choice):
                raise InvalidInput("--counts counts the whole inbox: leave the filters out.", field="counts")
            numbers = client.notification_counts(who, tab=shown_tab.value)
            show_facts(numbers if as_json else _counts_facts(numbers), as_json=as_json)
            return
        filters: Document = {"tab": shown_tab.value, **_filter_of(client, choice)}
        _show_list(client, who, filters, _Shape(limit, by_cause=by_cause, by_asset=by_asset, as_json=as_json))


class _Shape(NamedTuple):
    """How a list is shown: of causes, of assets, else of notifications."""

    limit: int
    by_cause: bool
    by_asset: bool
    as_json: bool


def _show_list(client: Client, who: str, filters: Document, shape: _Shape) -> None:
    zone, limit, as_json = zone_of(client, who, is_shown=not shape.as_json), shape.limit, shape.as_json
    if shape.by_cause or shape.by_asset:
        limit = min(limit, _MOST_GROUPS)
        list_groups = client.notification_causes if shape.by_cause else client.notified_assets
        row_of = _cause_row if shape.by_cause else _asset_row
        answer = _groups_of(list_groups, who, limit, filters)
        _check_actor(client, filters, has_match=bool(answer["data"]))
        show_rows((row_of(one, zone) for one in answer["data"]), answer=answer, as_json=as_json)
        is_cut = "after" in answer["paging"] or answer["paging"]["total"] > len(answer["data"])
    else:
        notices = list(islice(client.notifications(who, fields=_DETAILS, **filters), limit + 1))
        _check_actor(client, filters, has_match=bool(notices))
        is_cut, notices = len(notices) > limit, notices[:limit]
        events = [one.change.event for one in notices]
        show_rows((_notice_row(one, zone) for one in notices), answer=events, as_json=as_json)
    say_there_are_more(limit, is_cut=is_cut, as_json=as_json)


def _groups_of(list_groups: Callable[..., Document], who: str, limit: int, filters: Document) -> Document:
    """Return a page of groups; a page may be short, or empty, although there is one after it."""
    answer = list_groups(who, limit=limit, **filters)
    groups: list[Document] = list(answer["data"])
    while len(groups) < limit and "after" in answer["paging"]:
        place = answer["paging"]["after"]
        answer = list_groups(who, limit=limit - len(groups), after=place, **filters)
        groups += answer["data"]
    total = max(answer["paging"]["total"], len(groups))
    return answer | {"data": groups, "paging": answer["paging"] | {"total": total}}


def _check_actor(client: Client, filters: Document, *, has_match: bool) -> None:
    """Raise ``NotFound`` where nothing has come because nobody has the name of the actor; who is gone may have it."""
    if filters.get("actor") and not has_match:
        find_user(client, filters["actor"])


def _counts_facts(numbers: Document) -> Document:
    """Return the numbers of an inbox in words; where counting ended, there may be more."""
    kinds = (f"{_number_text(count)} {kind}" for kind, count in numbers["kinds"].items())
    tabs = {name: _number_text(numbers[name]) for name in ("unread", "unseen", "saved", "snoozed", "done")}
    all_text, needs_text = _number_text(numbers["total"]), _number_text(numbers["needsMe"])
    return {"needs you": needs_text, "all": all_text, **tabs, "by kind": ", ".join(kinds) or "none"}


def _number_text(count: int) -> str:
    return f"{count:,} or more" if count >= MOST_COUNTED else f"{count:,}"


def _asset_row(asset: Document, zone: str) -> Document:
    latest: Document = asset["latest"]
    return {
        "asset": asset["name"],
        "notifications": asset["count"],
        "unread": asset["unread"],
        "latest": latest["title"],
        "time": moment_text(latest["timestamp"], zone),
    }


def _cause_row(cause: Document, zone: str) -> Document:
    leading: Document = cause["leading"]
    return {
        "time": moment_text(cause["timestamp"], zone),
        "what": cause["title"],
        "above all": leading["title"] if leading["title"] != cause["title"] else "",
        "notifications": cause["count"],
        "unread": cause["unread"],
        "cause": cause["id"],
    }


class _Choice(NamedTuple):
    """The options of a command that choose notifications."""

    kind: list[str] | None
    reason: list[ReasonKind] | None
    asset: str | None
    alert: str | None
    by: str | None
    since: str | None
    before: str | None
    search: str | None
    cause: str | None
    needs_me: bool | None


def _filter_of(client: Client, choice: _Choice) -> dict[str, Filter]:
    """Return the filter of these options, by the names of the client's parameters."""
    values: dict[str, Filter | None] = {
        "kind": tuple(kind for text in choice.kind or () for kind in text.split(",")) or None,
        "reason": tuple(one.value for one in choice.reason or ()) or None,
        "asset": find_entity(client, choice.asset, None).id if choice.asset else None,
        "alert": find_alert(client, choice.alert).id if choice.alert else None,
        "actor": choice.by,
        "start_ts": _moment_ms(choice.since, "since"),
        "end_ts": _moment_ms(choice.before, "before"),
        "q": choice.search,
        "cause": choice.cause,
        "needsMe": choice.needs_me,
    }
    return {name: value for name, value in values.items() if value is not None}


def _moment_ms(text: str | None, option: str) -> int | None:
    return None if text is None else moment(text, option, SystemClock().now_ms())


def _notice_row(notice: Notice, zone: str) -> Document:
    return {
        "time": moment_text(notice.change.event["timestamp"], zone),
        "what": notice.title,
        "why": "; ".join(notice.reasons),
        "severity": notice.severity or "",
        "failing": _failure_text(notice.failure, zone),
        "incident": _incident_text(notice.incident),
        "what to do": "; ".join(notice.runbooks) or notice.advice,
        "failing rows": _rows_text(notice.failing_rows),
        "state": _state_text(notice, zone),
        "id": notice.id,
    }


def _state_text(notice: Notice, zone: str) -> str:
    """Return the state of a notification in words: ``unread``, ``read, saved``, ``snoozed until …``."""
    state: Document = notice.state or {}
    until = state.get("snoozedUntil")
    words = ["done" if state.get("done") else "read" if notice.is_read else "unread"]
    words += ["saved"] if state.get("saved") else []
    if until is not None:
        words.append(f"snoozed until {until if isinstance(until, str) else moment_text(until, zone)}")
    return ", ".join(words)


Ids = Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Ids of notifications, as tocsin inbox lists.")]
As = Annotated[Mark | None, typer.Argument(metavar="MARK", help=", ".join(Mark) + ".")]
Until = Annotated[
    str | None, typer.Option("--until", help="When a snoozed one comes back: 8h, 7d, changed or resolved.")
]
OfMarkedTab = Annotated[
    Tab | None, typer.Option("--tab", help="In place of ids: all of this tab, or what filters find of it.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing: count what would be marked.")]
Undo = Annotated[
    Path | None, typer.Option("--undo", help="A file with the --json answer of an earlier mark, to bring back.")
]


def mark(  # noqa: PLR0913  # each option of the command is a parameter
    as_what: As = None,
    ids: Ids = None,
    *,
    until: Until = None,
    undo: Undo = None,
    tab: OfMarkedTab = None,
    kind: OfKinds = None,
    reason: OfReasons = None,
    asset: OfAsset = None,
    alert: OfAlert = None,
    by: By = None,
    since: Since = None,
    before: Before = None,
    search: Search = None,
    cause: OfCause = None,
    needs_me: NeedsMe = None,
    dry_run: DryRun = False,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Mark notifications: read, done, saved or snoozed; back: unread, undone, unsaved, unsnoozed.

    Examples: tocsin mark done 0199c6f2-7c00-7000-8000-000000000009
    · tocsin mark snoozed 0199c6f2-7c00-7000-8000-000000000009 --until 8h
    · tocsin mark done --kind tag --by ingestion-bot --dry-run · tocsin mark --undo answer.json
    """
    if (undo is None) == (as_what is None):
        raise InvalidInput("Say what to mark and which, or give --undo.", field="mark")
    with Client() as client:
        who = find_user(client, user)
        criteria = _filter_of(client, _Choice(kind, reason, asset, alert, by, since, before, search, cause, needs_me))
        if criteria or tab:
            if ids or undo:
                raise InvalidInput("Give ids, a filter, or --undo.", field="mark")
            answer = _mark_all(client, who.id, _Bulk(str(as_what), tab or Tab.ALL, criteria, _end(until), dry_run))
            _check_actor(client, criteria, has_match=bool(answer["matched"]))
            show_text(_bulk_text(who.name, str(as_what), answer, is_dry_run=dry_run), answer=answer, as_json=as_json)
            return
        if undo is not None:
            answer = _sum_of([client.restore_notifications(who.id, one) for one in _portions_of(_undo_in(undo))])
        else:
            answer = client.mark_notifications(who.id, str(as_what), ids or [], until=_end(until))
    text = f"{who.name} has {_result_text(answer, 'brought back' if undo else f'marked as {as_what}')}"
    show_text(text, answer=answer, as_json=as_json)


class _Bulk(NamedTuple):
    """What to mark of all that a filter finds."""

    mark: str
    tab: Tab
    criteria: dict[str, Filter]
    until: datetime | str | None
    is_dry_run: bool


def _mark_all(client: Client, user_id: str, bulk: _Bulk) -> Document:
    """Mark all that a filter finds, request by request; return the last answer with the counts of all together."""
    options: dict[str, Any] = {"until": bulk.until, "tab": bulk.tab.value, "dry_run": bulk.is_dry_run, **bulk.criteria}
    answers: list[Document] = []
    while not answers or "after" in answers[-1]:
        place = {name: answers[-1][name] for name in ("after", "through")} if answers else {}
        answers.append(client.mark_matching_notifications(user_id, bulk.mark, **options, **place))
    return _sum_of(answers) | {"missing": []}


def _sum_of(answers: Sequence[Document]) -> Document:
    """Return the last of several answers with the counts, states and missing ids of all together."""
    count_names = answers[-1].keys() & {"marked", "notificationCount", "matched"}
    totals = {name: sum(one[name] for one in answers) for name in count_names}
    states = [state for one in answers for state in one.get("undo", {"states": ()})["states"]]
    missing_ids = [one for answer in answers for one in answer["missing"]]
    return {**answers[-1], **totals, "missing": missing_ids, **({"undo": {"states": states}} if states else {})}


def _bulk_text(who: str, mark: str, answer: Document, *, is_dry_run: bool) -> str:
    matched = count_text(answer["matched"], "entry", "entries")
    if is_dry_run:
        return f"{matched} of {who} would be marked as {mark}; nothing has changed."
    return f"{who} has {_result_text(answer, f'marked as {mark}')} The filter finds {matched}."


def _result_text(answer: Document, action: str) -> str:
    unread = answer["counts"]["unread"]
    text = f"{action}: {count_text(answer['marked'], 'entry', 'entries')}; {unread} unread."
    missing: Sequence[str] = answer["missing"]
    return f"{text} Not there: {', '.join(missing)}." if missing else text


def _end(until: str | None) -> datetime | str | None:
    return until if until in tuple(SnoozeEnd) else end_after(until, "until", words=tuple(SnoozeEnd))


def _undo_in(path: Path) -> list[tuple[Document, list[str]]]:
    """Return the states in a file, each without its ids and these."""
    try:
        states = orjson.loads(path.read_bytes())["undo"]["states"]
        states_and_ids = [({key: state[key] for key in state.keys() - {"ids"}}, list(state["ids"])) for state in states]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} holds no answer with an undo.", field="undo") from error
    if not any(ids for _, ids in states_and_ids):
        raise InvalidInput(f"{path} holds no answer with an undo.", field="undo")
    return states_and_ids


def _portions_of(states: Sequence[tuple[Document, Sequence[str]]]) -> Iterator[Document]:
    """Yield what brings states back, request by request: none has more than the server takes at once."""
    portion: list[Document] = []
    for state, ids in states:
        for chunk in chunks_of(ids, MOST_RESTORED // _STATES_AT_ONCE):
            portion.append({**state, "ids": list(chunk)})
            if len(portion) == _STATES_AT_ONCE:
                yield {"states": portion}
                portion = []
    if portion:
        yield {"states": portion}


def _failure_text(failure: Document | None, zone: str) -> str:
    """Return since when something fails, or how long it did, and how often: ``since 2026-11-29 10:00 UTC, 3 times``."""
    if failure is None:
        return ""
    until = f" until {moment_text(failure['until'], zone)}" if "until" in failure else ""
    usual = f", usually takes {span_text(failure['usualDuration'])}" if "usualDuration" in failure else ""
    return f"since {moment_text(failure['since'], zone)}{until}, {count_text(failure['count'], 'time')}{usual}"


def _incident_text(incident: Document | None) -> str:
    if incident is None:
        return ""
    name = incident.get("acknowledgedByDisplayName") or incident.get("acknowledgedBy")
    who = f", acknowledged by {name}" if name else ""
    return f"{incident['name']}{who}"


def _rows_text(failing: Document | None) -> str:
    """Return rows that failed a test as one text: ``id: 7; total: -3 | the first of 9 rows of 2 columns``.

    Values and names with a semicolon or a bar come in quotation marks.
    """
    if failing is None:
        return ""
    if failing["isWithheld"]:
        return "kept; you may not see them"
    named_cells = (zip(failing["columns"], row, strict=True) for row in failing["rows"])
    texts = ["; ".join(f"{name}: {cell}" for name, cell in cells) for cells in named_cells]
    row_count, column_count = failing["rowCount"], failing["columnCount"]
    if (len(failing["rows"]), len(failing["columns"])) != (row_count, column_count):
        texts.append(f"the first of {count_text(row_count, 'row')} of {count_text(column_count, 'column')}")
    return " | ".join(texts)

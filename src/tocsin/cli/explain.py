"""``tocsin explain``: why a person was notified of a change or not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader
from tocsin.cli.assets import EVENT_ID, OfType, find_entity
from tocsin.cli.display_names import DisplayNames
from tocsin.cli.events import words_of
from tocsin.cli.output import AsJson, console, printable, show_json
from tocsin.cli.own_zone import reader_of
from tocsin.client import Change, Client
from tocsin.delivery.channels.table import phrase_of
from tocsin.delivery.lines import YOU
from tocsin.delivery.wording.content import more_of
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.change_kinds import Frequency
from tocsin.model.entity import Document
from tocsin.model.kind_words import frequency_text, refusal_text
from tocsin.model.own_address import named_target
from tocsin.model.phrases import count_text, in_words, value_in_words
from tocsin.model.preferences import FrequencyChoice, Layer

_MOST_ALERTS = 100
_MOST_VALUES = 4
_MOST_CHANGES = 10
_MOST_EARLIER = 3

EventId = Annotated[
    str | None, typer.Argument(metavar="EVENT", help="Id of a change event, or of a notification to you.")
]
OfAsset = Annotated[str | None, typer.Option("--asset", help="Explain the latest event of this asset.")]
OfAlert = Annotated[str | None, typer.Option("--alert", help="Only this alert (name or id).")]
EveryAlert = Annotated[
    bool, typer.Option("--all", help="Show all alerts in full, also those that do not concern the person.")
]
ToUser = Annotated[str | None, typer.Option("--user", help="Only this person (name or id).")]


def explain(
    event: EventId = None,
    *,
    asset: OfAsset = None,
    alert: OfAlert = None,
    user: ToUser = None,
    all_alerts: EveryAlert = False,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Explain who was notified of a change or not, and why: rule by rule, person by person.

    Alerts that do not concern the person are only counted. `tocsin events tail` prints ids of events, `tocsin inbox`
    those of notifications: what you were told of is explained for you.

    Examples
    tocsin explain EVENT-ID --user dana.whitlock
    tocsin explain --asset postgres_prod.ecommerce.public.orders
    """
    with Client() as client:
        *earlier, newest = _events(client, event, asset, entity_type)
        reader = ANYBODY if as_json else reader_of(client)
        answer = client.explain(str(newest.event["id"]), subscription=alert, user=user, limit=_MOST_ALERTS)
        names = DisplayNames(client)
        earlier_words = [] if as_json else [words_of(one, reader, names.event_of)[0] for one in earlier]
    if as_json:
        show_json(answer)
        return
    console().print(Text(answer["answer"], style="bold"), soft_wrap=True)
    console().print(_tree(answer, reader, is_every_alert=all_alerts or alert is not None))
    if earlier:
        typer.echo("Earlier events of the asset, which `tocsin explain ID` explains:")
    for change, words in reversed(list(zip(earlier, earlier_words, strict=True))):
        moment = reader.moment(change.event["timestamp"])
        typer.echo(printable(f"  {change.event['id']}  {moment}  {words}"))


def _events(client: Client, event: str | None, asset: str | None, entity_type: str | None) -> Sequence[Change]:
    """Return the event to explain; of an asset its latest ones, the last of which is meant."""
    if (event is None) == (asset is None):
        raise InvalidInput(
            "Give the id of an event or a notification, or --asset for an asset's latest event.", field="event"
        )
    if event is not None:
        if not EVENT_ID.fullmatch(event):
            raise InvalidInput(
                f"{event!r} is not the id of an event or a notification; to give an asset, use --asset.", field="event"
            )
        return [Change({"id": event})]
    entity = find_entity(client, str(asset), entity_type)
    latest = deque(client.events(entity_id=entity.id, limit=1_000), maxlen=1 + _MOST_EARLIER)
    if not latest:
        raise NotFound(f"change event of {asset} not found")
    return latest


def _tree(answer: Document, reader: ExplanationReader, *, is_every_alert: bool) -> Tree:
    event = answer["event"]
    author = f"  by {event['userDisplayName']}" if event["userDisplayName"] else ""
    head = Text.assemble((event["title"], "cyan"), f"  {reader.moment(event['timestamp'])}", author)
    tree = Tree(head)
    for text in _change_texts(event):
        tree.add(Text(text, style="cyan"))
    if readers := answer.get("readers"):
        tree.add(Text(_readers_text(readers)))
    tree.add(Text(f"event {event['id']}", style="dim"))
    alerts = [alert for alert in answer["alerts"] if is_every_alert or _concerns(alert, answer)]
    for alert in alerts:
        unreached_text = f"it does not notify {_whom(answer, reader)}"
        _grow_alert(tree, alert, reader, verdict=_verdict(alert, answer), unreached=unreached_text)
    if alert_count := answer["paging"]["total"] - len(alerts):
        line = _folded_alerts_line(answer, alert_count, _whom(answer, reader), is_every_alert=is_every_alert)
        tree.add(Text(line, style="dim"))
    _grow_notified(tree, answer["notified"], reader)
    for disagreement in answer["disagreements"]:
        tree.add(Text(f"! {disagreement['says']}", style="yellow"))
    tree.add(Text(f"alerts and relations as of now, {reader.moment(answer['asOf'])}", style="dim"))
    return tree


def _shown_name(person: Document) -> str:
    return str(person.get("displayName") or person["name"])


def _change_texts(event: Document) -> Iterator[str]:
    """Yield the changes of the event as messages say them, and why they were made."""
    texts = event["changes"]
    yield from texts[:_MOST_CHANGES]
    if len(texts) > _MOST_CHANGES:
        yield more_of(len(texts) - _MOST_CHANGES)


def _readers_text(readers: Document) -> str:
    """Return what reads what the change breaks: ``read by a.b, a.c and 2 assets that you may not see``."""
    names = [one["fullyQualifiedName"] for one in readers["data"]]
    if unnamed_count := readers["total"] - len(names):
        names.append(f"{unnamed_count} more")
    if readers["hidden"]:
        names.append(f"{count_text(readers['hidden'], 'asset')} that you may not see")
    if not names:
        return "read by nothing, says lineage"
    return f"read by {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _concerns(alert: Document, answer: Document) -> bool:
    """Return whether an alert concerns the person in question; without one, every alert that matched does."""
    about_all = answer["user"] is None and answer["notified"]["isWhole"]
    return bool(alert["reached"]["total"] or (about_all and alert["matched"]) or _is_notified(alert, answer))


def _is_notified(alert: Document, answer: Document) -> bool:
    notified = (reason["subscriptionId"] for one in answer["notified"]["data"] for reason in one["reasons"])
    return alert["id"] in notified


def _verdict(alert: Document, answer: Document) -> str:
    """Return whether the alert matches; one that sent a notification and has changed since did match then."""
    if alert["matched"]:
        return "matched"
    return "would not match now, but matched then" if _is_notified(alert, answer) else "did not match"


def _whom(answer: Document, reader: ExplanationReader) -> str:
    """Return the user to explain for: the requester, if they may not ask about others."""
    if answer["user"] is not None:
        return reader.name_of(answer["user"]["id"], _shown_name(answer["user"]))
    return "anybody" if answer["notified"]["isWhole"] else "you"


def _folded_alerts_line(answer: Document, alert_count: int, whom: str, *, is_every_alert: bool) -> str:
    line = f"{count_text(alert_count, 'more alert')}"
    if is_every_alert:
        return f"{line}; use --alert to select one"
    about_all = answer["user"] is None and answer["notified"]["isWhole"]
    why = "did not match" if about_all else f"would not notify {whom}"
    return f"{line} {why}; use --all to show them"


def _grow_alert(tree: Tree, alert: Document, reader: ExplanationReader, *, verdict: str, unreached: str) -> None:
    branch = tree.add(_marked_line(alert["matched"], f"alert {alert['name']} {verdict}"))
    for gate in alert["gates"]:
        branch.add(_marked_line(gate["holds"], gate["says"]))
    for rule in alert["rules"]:
        name = f"{rule['part'][:-1]} {rule['name'] or rule['number'] + 1} ({rule['effect']})"
        if rule["trace"] is None:
            branch.add(_marked_line(False, rule["says"]))
        else:
            _grow_trace(branch.add(_marked_line(rule["holds"], name)), rule["trace"])
    for person in alert["reached"]["data"]:
        _grow_person(branch, person, reader)
    if alert["matched"] and not alert["reached"]["total"]:
        branch.add(_marked_line(False, unreached))
    left_count = alert["reached"]["total"] - len(alert["reached"]["data"])
    if left_count > 0:
        branch.add(Text(f"and {left_count} more", style="dim"))


def _grow_trace(branch: Tree, trace: Document) -> None:
    if "joined" not in trace:
        branch.add(Text.assemble(_marked_line(trace["holds"], trace["text"]), (f"  {_observed_values(trace)}", "dim")))
        return
    words = {"and": "all of", "or": "one of", "not": "not"}
    below = branch.add(_marked_line(trace["holds"], words[trace["joined"]]))
    for part in trace["parts"]:
        _grow_trace(below, part)


def _grow_person(branch: Tree, person: Document, reader: ExplanationReader) -> None:
    notified = person["notification"] is not None
    who = named_target(reader.name_of(person["id"], _shown_name(person)), person.get("destinations") or ())
    below = branch.add(_marked_line(person["isDue"] or notified, f"{who} {phrase_of(person['channel'])}"))
    for way in person["ways"]:
        stopped = way["stoppedBy"]
        says = way["reason"]["sentence"] + (f": {stopped['says']}" if stopped else "")
        below.add(_marked_line(stopped is None, says))
    if person["mergedWith"]:
        below.add(Text(f"sent as one notification with {', '.join(person['mergedWith'])}", style="dim"))


def _grow_notified(tree: Tree, notified: Document, reader: ExplanationReader) -> None:
    if not notified["total"]:
        visible = "" if notified["isWhole"] else " that you may see"
        tree.add(Text(f"no notification{visible} is stored", style="dim"))
        return
    verb = "is" if notified["total"] == 1 else "are"
    branch = tree.add(f"{count_text(notified['total'], 'notification')} {verb} stored")
    for notification in notified["data"]:
        read = "" if notification["message"] else f", {'read' if notification['isRead'] else 'unread'}"
        is_off = notification["dueAt"] is None
        due = "  not shown" if is_off else f"  due {reader.moment(notification['dueAt'])}{read}"
        whom = (
            notification.get("recipientDisplayName")
            or notification["recipientName"]
            or (notification["message"] or {}).get("target")
            or notification["recipient"]
        )
        who = reader.name_of(notification["recipientId"], whom)
        whom = named_target(who, notification.get("destinations") or ())
        below = branch.add(Text.assemble(f"{whom} {phrase_of(notification['channel'])}", (due, "dim")))
        if choice := _chosen_frequency(notification.get("preference")):
            below.add(Text(_choice_text(choice, who), style="dim"))
        if digest := notification.get("digest"):
            below.add(Text(f"in {digest['says']}"))
        for line in _delivery_lines(notification["message"], reader):
            below.add(line)


def _chosen_frequency(preference: Document | None) -> FrequencyChoice | None:
    """Return by whose choice a notification is not sent at once; None where it is, and of mutes, which gates tell."""
    if preference is None or preference["frequency"] == Frequency.IMMEDIATE or preference["from"] == Layer.MUTE:
        return None
    return FrequencyChoice(Frequency(preference["frequency"]), preference["kind"] or "", Layer(preference["from"]))


def _choice_text(choice: FrequencyChoice, who: str) -> str:
    """Return by whose choice a notification waits, or never comes over its channel."""
    is_reader = who == YOU
    follow = "your follow" if is_reader else "their follow"
    if choice.frequency is Frequency.NEVER:
        return refusal_text(choice, f"{who} never {'want' if is_reader else 'wants'}", follow)
    return frequency_text(choice, f"{who} {'prefer' if is_reader else 'prefers'}", follow)


def _delivery_lines(message: Document | None, reader: ExplanationReader) -> Iterator[Text]:
    if message is None:
        return
    last = " (given up; final)" if message["isDeadLetter"] else ""
    other_count = message.get("notificationCount", 1) - 1
    together = f", in one message with {count_text(other_count, 'other notification')}" if other_count > 0 else ""
    yield Text(f"{in_words(message['status'])}{last}{together}")
    for attempt in message["attempts"]:
        is_good = attempt["outcome"] == "delivered"
        status = f" {attempt['statusCode']}" if attempt["statusCode"] else ""
        place = f"attempt {attempt['number']} at {reader.moment(attempt['startedAt'])}"
        yield _marked_line(is_good, f"{place}: {in_words(attempt['reason'])}{status}")
        if template_error := attempt.get("templateError"):
            yield Text(template_error, style="dim")
        for drop in attempt["dropped"]:
            yield Text(f"left out: {drop['reason']['sentence']}: {drop['says']}", style="dim")
    if message.get("held"):
        since = reader.moment(message["heldSince"])
        yield Text(f"waits: its destination is {message['held']} since {since}", style="dim")
    if message["nextAttempt"]:
        yield Text(f"next attempt at {reader.moment(message['nextAttempt'])}", style="dim")


def _marked_line(holds: bool | None, text: str) -> Text:
    """Return a line with a tick or cross before it; with a question mark where it depends on the recipient."""
    marks = {True: ("✓ ", "green"), False: ("✗ ", "red"), None: ("? ", "yellow")}
    return Text.assemble(marks[holds], text)


def _observed_values(trace: Document) -> str:
    return "; ".join(f"{one['name']} is {_values(one)}" for one in trace["seen"])


def _values(values: Document) -> str:
    if values["isMissing"]:
        return "missing"
    text = ", ".join(value_in_words(value) for value in values["values"][:_MOST_VALUES])
    further_count = values["total"] - min(len(values["values"]), _MOST_VALUES)
    return (
        text
        + (f" and {further_count} more" if further_count > 0 else "")
        + (", inherited" if values["isInherited"] else "")
    )

"""Agreement of self-audit, explanations, backtests and noise with what a replay stored, for every event.

What was compared is kept in a file, so that an interrupted comparison goes on where it was. Next:
``truth/judgement.py``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from truth.alert_list import OWN_ALERTS
from truth.alerts import BELL, HOOK, MAIL
from truth.calls import address_of
from truth.compare import Difference, Kind
from truth.expected import Expectation, Notifications, Reason
from truth.explained import Explanations
from truth.facts import Event
from truth.history import Json
from truth.script import Script
from truth.steps import DropAlert, RemoveUser, SwitchAlert
from truth.stored import Firing, Names, read_firings, read_matches_of_a_job, read_notifications
from truth.ways import Progress, Replayed

_ALERTS = "/events/subscriptions"
_WINDOW_HOURS = "2400"
_WAIT_S = 30
_MOST_NAMED = 50
"""So many recipients does a backtest name (``docs/backtest.md``)."""

Rows = Mapping[str, Notifications]
"""The stored notifications of each alert, with its own reasons alone."""


class Answers:
    """Differences found so far, by question; kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Difference]] = {}
        lines = path.read_text().splitlines() if path.exists() else []
        for question, difference_documents in map(json.loads, lines):
            self._known[question] = [Difference(**{**one, "kind": Kind(one["kind"])}) for one in difference_documents]

    def __contains__(self, question: str) -> bool:
        return question in self._known

    def note(self, question: str, differences: Iterable[Difference]) -> None:
        """Keep the answer to a question."""
        self._known[question] = list(differences)
        with self._path.open("a") as sink:
            sink.write(json.dumps([question, list(map(asdict, self._known[question]))]) + "\n")

    def differences(self) -> list[Difference]:
        """Return all that was found, in the order of the events."""
        return sorted((one for found in self._known.values() for one in found), key=lambda one: one.number)


@dataclass(frozen=True)
class Questions:
    """How many events are explained and how many alerts backtested, chosen at random (None: all); whether it audits."""

    explained: int | None = None
    backtested: int | None = None
    is_audited: bool = True


@dataclass(frozen=True)
class Agreement:
    """What is asked after a replay, and what the answers are compared with."""

    replay: Replayed
    script: Script
    due: Expectation
    stored: Notifications
    names: Names
    questions: Questions
    progress: Progress
    answers: Answers

    def differences(self) -> list[Difference]:
        """Return where one of the four says something else than the stored notifications."""
        notifications_by_alert, steady = _by_alert(self.stored), steady_alerts(self.script)
        self._explain(steady)
        backtested_alerts = _some(sorted(steady - self.due.too_new), self.questions.backtested)
        for number, alert in enumerate(backtested_alerts, 1):
            if f"backtest {alert}" not in self.answers:
                self.answers.note(f"backtest {alert}", self._compare_backtest(alert))
            self.progress("backtests", number, len(backtested_alerts))
        if "noise" not in self.answers:
            self.answers.note("noise", self._noise(steady, notifications_by_alert))
        if self.questions.is_audited and "audit" not in self.answers:
            self.answers.note("audit", self._audit(steady))
        return self.answers.differences()

    def _notifications_and_matches(self, alert: str) -> tuple[Notifications, set[str]]:
        """Return what a backtest of an alert counts: its notifications and matched events, those of jobs too."""
        matches = read_matches_of_a_job(self.replay.engine, self.names)
        stored_of_jobs = read_notifications(self.replay.engine, self.names, of_a_job=True)
        return _by_alert({**self.stored, **stored_of_jobs})[alert], matches[alert] | self.due.firings.get(alert, set())

    def _explain(self, steady: frozenset[str]) -> None:
        events = _some(list(enumerate(self.replay.log.everything(), 1)), self.questions.explained)
        unanswered = [(number, event) for number, event in events if f"explain {event.id}" not in self.answers]
        stored: dict[str, Notifications] = defaultdict(dict)
        for address, reasons in self.stored.items():
            stored[address[0]][address] = reasons
        asking = Explanations(self.replay.caller, self.names, stored, steady, self._deleted_people())
        for done_count, (event, differences) in enumerate(
            asking.differences(unanswered), len(events) - len(unanswered) + 1
        ):
            self.answers.note(f"explain {event.id}", differences)
            self.progress("explanations", done_count, len(events))

    def _deleted_people(self) -> frozenset[str]:
        """Return names, addresses and ids of people who were deleted."""
        names = [step.user for step in self.script.steps if isinstance(step, RemoveUser)]
        ids = [self.replay.caller.ids["user", one] for one in names]
        return frozenset((*names, *map(address_of, names), *ids))

    def _compare_backtest(self, alert: str) -> list[Difference]:
        """Compare a backtest with what is stored; again if a job wrote an event meanwhile, which one of them has."""
        while True:
            stored = self._notifications_and_matches(alert)
            differences = list(self._backtest(alert, *stored))
            if not differences or self._notifications_and_matches(alert) == stored:
                return differences

    def _backtest(self, alert: str, notifications: Notifications, matches: set[str]) -> Iterator[Difference]:
        caller, deleted_people = self.replay.caller, self._deleted_people()
        notifications = {at: reasons for at, reasons in notifications.items() if at[2] not in deleted_people}
        request = {"id": caller.ids["alert", alert], "since": _first_ms_of(self.replay.log.everything(), alert)}
        backtest = caller.ask("POST", f"{_ALERTS}/backtest", json=request)
        while backtest["state"] in ("waiting", "running"):
            backtest = caller.ask("GET", f"{_ALERTS}/backtest/{backtest['id']}", params={"wait": _WAIT_S})
        if backtest["state"] != "done":
            yield Difference(Kind.BACKTEST, 0, f"{alert} {backtest['state']}: {backtest.get('reason')}")
            return
        stored_counts, answered_counts = (
            _counts_of_stored(notifications, matches),
            _counts_of_result(backtest["result"]),
        )
        if len(backtest["result"]["recipients"]) >= _MOST_NAMED:
            stored_counts["recipients"] = {
                recipient: stored_counts["recipients"].get(recipient) for recipient in answered_counts["recipients"]
            }
        yield from _unlike(Kind.BACKTEST, alert, stored_counts, answered_counts)

    def _noise(self, steady: frozenset[str], notifications_by_alert: Rows) -> Iterator[Difference]:
        """Compare the counts of every alert and event, and what the API sums up of them."""
        events = {event.id for event in self.replay.log.everything()}
        firings = read_firings(self.replay.engine, self.names)
        per_event = {at: one for at, one in firings.items() if at[0] in steady and at[1] in events}
        due = self._firings(steady, notifications_by_alert)
        for alert, event_id in sorted(due.keys() | per_event.keys()):
            at = (alert, event_id)
            if due.get(at) != per_event.get(at):
                right, actual = str(due.get(at)), str(per_event.get(at))
                yield Difference(Kind.NOISE, 0, f"{alert}, event {event_id}", right=right, actual=actual)
        answer = self.replay.caller.ask("GET", f"{_ALERTS}/noise", params={"limit": 100, "since": "90d"})
        for alert in sorted(steady):
            alert_noise: Json = next((one for one in answer["data"] if one["name"] == alert), {})
            yield from _unlike(
                Kind.NOISE, alert, *_sums(alert_noise, [one for at, one in firings.items() if at[0] == alert])
            )

    def _firings(self, steady: frozenset[str], notifications_by_alert: Rows) -> dict[tuple[str, str], Firing]:
        firings = {(alert, event): Firing() for alert in steady for event in self.due.firings.get(alert, ())}
        for alert in steady:
            for event_id, channel, recipient in notifications_by_alert[alert]:
                reasons = self.stored[event_id, channel, recipient]
                before = firings.get((alert, event_id), Firing())
                is_person = any(one.kind != "external" for one in reasons)
                parts = (1, int(is_person), int(channel == BELL))
                firings[alert, event_id] = Firing(*map(sum, zip(before, parts, strict=True)))
        return firings

    def _audit(self, steady: frozenset[str]) -> Iterator[Difference]:
        process = self.replay.product.run("audit", "--window-hours", _WINDOW_HOURS, "--json")
        if process.returncode not in (0, 7):
            yield Difference(Kind.AUDIT, 0, "did not run", actual=process.stderr[-2000:])
            return
        report = json.loads(process.stdout)
        for finding in report["findings"]:
            yield Difference(Kind.AUDIT, 0, f"finding {finding['kind']}", actual=json.dumps(finding))
        first, last = self.replay.ends[0], self.replay.ends[-1]
        if report["after"] > first or report["through"] < last:
            yield Difference(
                Kind.AUDIT, 0, f"events {first} to {last}", actual=f"{report['after']} to {report['through']}"
            )
        firing_count = sum(len(self.due.firings.get(alert, ())) for alert in steady)
        if report["judged"] < firing_count:
            yield Difference(
                Kind.AUDIT, 0, "matches judged", right=f"{firing_count} at least", actual=str(report["judged"])
            )


def steady_alerts(script: Script) -> frozenset[str]:
    """Return the alerts that are at the end what they were at every event that they may have matched."""
    passing = {one.alert for one in script.steps if isinstance(one, SwitchAlert | DropAlert)}
    return frozenset({*(one.name for one in OWN_ALERTS), *script.alerts} - passing)


def _some(everything: list[Any], count: int | None) -> list[Any]:
    if count is None or count >= len(everything):
        return everything
    return sorted(Random(1).sample(everything, count))


def _by_alert(stored: Notifications) -> Rows:
    notifications_by_alert: dict[str, Notifications] = defaultdict(dict)
    for address, reasons in stored.items():
        for alert in {one.alert for one in reasons}:
            notifications_by_alert[alert][address] = frozenset(one for one in reasons if one.alert == alert)
    return notifications_by_alert


def _first_ms_of(events: list[Event], alert: str) -> int:
    """Return the first millisecond from which an alert counts in this replay."""
    creation_times_ms = (one.timestamp_ms for one in events if one.key == ("eventsubscription", alert))
    return next(creation_times_ms, events[0].timestamp_ms - 1) + 1


def _counts_of_stored(notifications: Notifications, fired: set[str]) -> dict[str, Any]:
    """Return the counts of a backtest as they follow from the stored notifications of its alert."""
    channels = Counter(channel for _, channel, _ in notifications)
    recipients: dict[tuple[str, str], list[frozenset[Reason]]] = defaultdict(list)
    for (_, channel, recipient), reasons in notifications.items():
        recipients[channel, "" if channel == HOOK else recipient].append(reasons)
    return {
        "matched": len(fired),
        "notified": len(notifications),
        "notifiedNobody": len(fired) - len({event_id for event_id, *_ in notifications}),
        "merged": sum(map(len, notifications.values())) - len(notifications),
        "channels": dict(channels),
        "recipients": {
            at: (len(many), sorted({one.kind for reasons in many for one in reasons}))
            for at, many in recipients.items()
        },
    }


def _counts_of_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same counts of a backtest's result."""
    return {
        **{name: result[name] for name in ("matched", "notified", "notifiedNobody", "merged")},
        "channels": {entry["channel"]: entry["notified"] for entry in result["channels"] if entry["notified"]},
        "recipients": {
            (entry["channel"], _name_of(entry)): (entry["notified"], sorted(entry["because"]))
            for entry in result["recipients"]
        },
    }


def _name_of(recipient: Mapping[str, Any]) -> str:
    if recipient["channel"] == HOOK:
        return ""
    if "name" not in recipient:
        return str(recipient["target"]).lower()
    return address_of(recipient["name"]) if recipient["channel"] == MAIL else str(recipient["name"])


def _sums(answered: Mapping[str, Any], counted: list[Firing]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the sums of an alert's counts, and what the API says that they are."""
    names = ("fired", "notifiedNobody", "notified", "notifiedPeople", "notifiedInApp")
    sums = map(sum, zip(*counted, strict=True)) if counted else (0, 0, 0)
    silent = sum(not one.notified for one in counted)
    expected = dict(zip(names, (len(counted), silent, *sums), strict=True))
    return expected, {name: answered.get(name, 0) for name in names}


def _unlike(kind: Kind, alert: str, stored: Mapping[str, Any], answered: Mapping[str, Any]) -> Iterator[Difference]:
    for name, value in stored.items():
        if value != answered[name]:
            yield Difference(kind, 0, f"{alert}: {name}", right=str(value), actual=str(answered[name]))

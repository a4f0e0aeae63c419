"""Agreement of self-audit, explanations, backtests and noise with what a replay stored.

Next: ``truth/compare.py``.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from truth.alerts import OWN_ALERTS
from truth.compare import Difference
from truth.expected import Address, Expectation, Notifications
from truth.script import Script
from truth.ways import Replayed

_ALERTS = "/events/subscriptions"
_WINDOW_HOURS = "48"
_WAIT_S = 30


def disagreements(
    replay: Replayed, script: Script, due: Expectation, stored: Notifications, explained: int
) -> Iterator[Difference]:
    """Yield where one of the four says something else than the stored notifications.

    ``explained`` is how many events are explained, chosen at random; all if there are no more.
    """
    rows = _by_alert(stored)
    steady = [*(one.name for one in OWN_ALERTS), *(name for name, one in script.alerts.items() if len(one) == 1)]
    yield from _audited(replay)
    yield from _explained(replay, stored, steady, explained)
    for alert in steady:
        yield from _backtested(replay, alert, due, rows[alert])
    yield from _noise(replay, steady, due, rows)


def _by_alert(stored: Notifications) -> Mapping[str, list[Address]]:
    found: dict[str, list[Address]] = defaultdict(list)
    for address, reasons in stored.items():
        for alert in {one.alert for one in reasons}:
            found[alert].append(address)
    return found


def _audited(replay: Replayed) -> Iterator[Difference]:
    done = replay.product.run("audit", "--window-hours", _WINDOW_HOURS, "--json")
    if done.returncode not in (0, 7):
        yield Difference("audit", 0, "did not run", stored=done.stderr[-2000:])
        return
    for one in json.loads(done.stdout)["findings"]:
        yield Difference("audit", 0, f"finding {one['kind']}", stored=json.dumps(one))


def _explained(replay: Replayed, stored: Notifications, steady: list[str], count: int) -> Iterator[Difference]:
    events = list(enumerate(replay.log.everything(), 1))
    per_event = Counter(event_id for event_id, *_ in stored)
    for number, event in sorted(Random(1).sample(events, min(count, len(events)))):
        path = f"/events/{event.id}/explain"
        answers = _pages(replay, path)
        found = {(one["alert"], one["kind"], one["says"]) for answer in answers for one in answer["disagreements"]}
        for alert, kind, says in sorted(found):
            if alert in steady:
                yield Difference(f"explain {kind}", number, event.id, expected=says)
        total = answers[0]["notified"]["total"]
        if total != per_event[event.id]:
            yield Difference("explain", number, event.id, expected=str(total), stored=str(per_event[event.id]))


def _pages(replay: Replayed, path: str) -> list[Any]:
    found, params = [], {"limit": "100"}
    while True:
        found.append(replay.caller.ask("GET", path, params=params))
        after = (found[-1].get("paging") or {}).get("after")
        if after is None:
            return found
        params = {"limit": "100", "after": after}


def _backtested(replay: Replayed, alert: str, due: Expectation, rows: list[Address]) -> Iterator[Difference]:
    request = {"id": replay.caller.ids["alert", alert], "since": _since(replay, alert)}
    asked = replay.caller.ask("POST", f"{_ALERTS}/backtest", json=request)
    while asked["state"] in ("waiting", "running"):
        asked = replay.caller.ask("GET", f"{_ALERTS}/backtest/{asked['id']}", params={"wait": _WAIT_S})
    if asked["state"] != "done":
        yield Difference("backtest", 0, f"{alert} {asked['state']}: {asked.get('reason')}")
        return
    result = asked["result"]
    channels = Counter(channel for _, channel, _ in rows)
    for what, expected, found in (
        ("matched", due.firings.get(alert, 0), result["matched"]),
        ("notified", len(rows), result["notified"]),
        ("notifiedNobody", due.firings.get(alert, 0) - len({one[0] for one in rows}), result["notifiedNobody"]),
        ("channels", dict(channels), {one: count for one, count in _counts(result["channels"]).items() if count}),
    ):
        if expected != found:
            yield Difference("backtest", 0, f"{alert}: {what}", expected=str(found), stored=str(expected))


def _counts(channels: Any) -> Mapping[str, int]:
    return channels if isinstance(channels, dict) else {one["channel"]: one["notified"] for one in channels}


def _since(replay: Replayed, alert: str) -> int:
    """Return the first millisecond from which an alert counts in this replay."""
    events = replay.log.everything()
    made = (one.timestamp_ms for one in events if one.key == ("eventsubscription", alert))
    return next(made, events[0].timestamp_ms - 1) + 1


def _noise(
    replay: Replayed, steady: list[str], due: Expectation, rows: Mapping[str, list[Address]]
) -> Iterator[Difference]:
    own = {one.name for one in OWN_ALERTS}
    answer = replay.caller.ask("GET", f"{_ALERTS}/noise", params={"limit": 100})
    counts = {one["name"]: one for one in answer["data"]}
    for alert in steady:
        row = counts.get(alert, {})
        expected = {"notified": len(rows[alert])}
        if alert not in own:  # theirs count what the founding did as well
            fired = due.firings.get(alert, 0)
            expected |= {"fired": fired, "notifiedNobody": fired - len({one[0] for one in rows[alert]})}
        found = {what: row.get(what, 0) for what in expected}
        if found != expected:
            yield Difference("noise", 0, alert, expected=str(found), stored=str(expected))

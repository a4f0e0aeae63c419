"""JSON representation of backtests.

The server never runs one: the pipeline does (``jobs/requests.py``). Next: ``server/routes/alerts/backtests.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import orjson

from tocsin.access.person_visibility import Visibility
from tocsin.model.backtest import Backtest
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.requested_job import JobState
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, ID, OPEN, TEXT, TIME, either

UNSEEN_MS = 20_000
"""A pipeline that was not seen for so long is not there."""
GIVEN_UP_MS = 10 * 60_000
"""So long a backtest waits for a pipeline while there is none."""

_ALERT = "eventsubscription"

NO_PIPELINE = "Waiting for a pipeline: none is running. Start one with `tocsin pipeline`."


class ToldBacktest(NamedTuple):
    """A backtest, and what there is to say about its state."""

    backtest: Backtest
    message: str | None


_PROGRESS: Shape[ToldBacktest] = {
    "done": (COUNT, lambda told: told.backtest.done_count),
    "total": (COUNT, lambda told: told.backtest.total_count),
}
BACKTEST: Shape[ToldBacktest] = {
    "id": (ID, lambda told: told.backtest.id),
    "alert": (OPEN, lambda told: {"name": told.backtest.alert.get("name")}),
    "since?": (TIME, lambda told: told.backtest.since_ms),
    "until?": (TIME, lambda told: told.backtest.until_ms),
    "state": (either(*JobState), lambda told: told.backtest.state.value),
    "requestedAt": (TIME, lambda told: told.backtest.requested_at_ms),
    "endedAt?": (TIME, lambda told: told.backtest.ended_at_ms),
    "progress": (schema_of(_PROGRESS), lambda told: json_of(_PROGRESS, told)),
    "reason?": (TEXT, lambda told: told.backtest.reason),
    "message?": (TEXT, lambda told: told.message),
    "result?": (OPEN, lambda told: told.backtest.result),
}


def backtest_json(backtest: Backtest, *, ahead: int, seen_ago_ms: int) -> Document:
    """Return a backtest as the API shows it; ``seen_ago_ms`` is how long ago a pipeline was there for backtests."""
    return json_of(BACKTEST, ToldBacktest(backtest, _message(backtest, ahead, seen_ago_ms)))


def in_sight(backtest: Backtest, result: Document, visibility: Visibility) -> Document:
    """Return a result without assets, events, alerts and people that may not be seen by now.

    Its totals are of when it ran.
    """
    if visibility.is_whole:
        return result
    assets, recipients, triggered_alerts = (result.get(key, []) for key in ("assets", "recipients", "triggered"))
    overlaps = result.get("overlaps", [])
    asset_ids = visibility.sees(assets)
    samples = visibility.visible_events(
        [ChangeEvent.model_validate_json(orjson.dumps(one)) for one in result.get("samples", [])]
    )
    people = [{"id": one["id"], "type": "user"} for one in recipients if "id" in one]
    alerts = [{"id": one["id"], "type": _ALERT} for one in (*triggered_alerts, *overlaps) if "id" in one]
    alert_ids = visibility.sees(alerts)
    visible_ids = _VisibleIds(visibility.sees(people), alert_ids | {str(backtest.alert.get("id"))})
    visible_parts: Document = {
        "assets": [one for one in assets if one["id"] in asset_ids],
        "samples": [one.to_wire() for one in samples if one is not None],
        "triggered": [
            alert if alert.get("id") in alert_ids else _without_keys(alert, "id", "name") for alert in triggered_alerts
        ],
        "overlaps": [alert for alert in overlaps if alert["id"] in alert_ids],
        "recipients": [visible_ids.in_sight(one) for one in recipients],
    }
    return result | {key: value for key, value in visible_parts.items() if key in result}


class _VisibleIds(NamedTuple):
    """The ids of people, and of the alerts of a backtest, that may be seen."""

    people: Collection[str]
    alerts: Collection[str]

    def in_sight(self, recipient: Document) -> Document:
        """Return a recipient; who may not be seen, or is reached only by alerts that may not be, has no name."""
        if "alerts" in recipient:
            alerts = [one for one in recipient["alerts"] if one in self.alerts]
            is_cut = len(alerts) < len(recipient["alerts"])  # its destinations may be those of the others
            recipient = _without_keys(recipient, *(["destinations"] if is_cut else [])) | {"alerts": alerts}
        is_person, is_reached = "id" in recipient, bool(recipient.get("alerts", True))
        if is_reached and (not is_person or recipient["id"] in self.people):
            return recipient
        return _without_keys(recipient, "id", "name", "target", "destinations")


def _without_keys(document: Document, *keys: str) -> Document:
    return {key: value for key, value in document.items() if key not in keys}


def _message(backtest: Backtest, ahead: int, seen_ago_ms: int) -> str | None:
    if backtest.state is JobState.CANCELLED:
        return "The backtest was cancelled."
    if not backtest.is_open:
        return backtest.reason
    if seen_ago_ms > UNSEEN_MS:
        return NO_PIPELINE
    if backtest.state is JobState.WAITING and ahead:
        return f"Waiting for {ahead} earlier backtests."
    return None

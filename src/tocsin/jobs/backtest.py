"""Backtest of one alert over the whole history, lake and log, on Spark.

Matches and resolves as ``jobs/match_stream.py`` does, but counts instead of notifying; recipients are those at
each event (``jobs/backtest_tasks.py``). It processes the history in steps, each on all cores but one, so that live
notifications are not delayed.
Next: ``jobs/requests.py`` runs requested backtests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache, PolicySnapshot
from tocsin.access.visibility import may_view
from tocsin.errors import NotFound
from tocsin.flow.eventlog.lake import Extent, Window
from tocsin.flow.match.plan import at_reports, between_reports, plan_of
from tocsin.flow.resolve.only_visible import RememberedEvents
from tocsin.flow.resolve.withholding import AlertAssets, hidden_assets, withheld
from tocsin.jobs.backtest_alerts import HeldBackMatches, alerts_involved_in
from tocsin.jobs.backtest_counts import MOST_SAMPLES, BacktestTally, RecipientCount, RecipientRow
from tocsin.jobs.backtest_tasks import COUNTED, SIMILAR, Count
from tocsin.jobs.lake import LakeParts
from tocsin.jobs.requests import ReportProgress, Runner
from tocsin.jobs.resolving import StoreAddress
from tocsin.model.access import Operation
from tocsin.model.backtest import Backtest
from tocsin.model.entity import Document
from tocsin.model.match_result import Pair
from tocsin.model.own_address import shown_target
from tocsin.model.stored import Key
from tocsin.model.subscription import EventSubscription, alert_of
from tocsin.spark.lake import judged_events, part, status_events
from tocsin.spark.match import Index, index_of, matches, one_row_per_pair, with_skipped_alerts
from tocsin.spark.tasks import in_tasks
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.backtests import Backtests
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.outbox.firings import Firings
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.holding import Holding
from tocsin.store.upkeep.retention.progress import RetentionProgress

EVENTS_PER_STEP = 200_000
MATCHES_AT_ONCE = 20_000

_OF_EVENT = ("entity_id", "user_id", "timestamp_ms", "part_of", "entity_type", "entity_fqn")

_ALERT = "eventsubscription"
_MOST_OVERLAPS = 5

KEPT_DAYS = 30
"""For how long the result of a backtest can be read."""

_STATES_NOTE = (
    "What was still so at a time of a schedule is known only where a check looked then, and reminders only where they"
    " were due then."
)


class BacktestParts:
    """What backtests are made of, over the history and the store behind ``engine``."""

    def __init__(self, history: LakeParts, engine: Engine, *, events_per_step: int = EVENTS_PER_STEP) -> None:
        self.history, self.events_per_step = history, events_per_step
        self.store = StoreAddress(engine.url.render_as_string(hide_password=False))
        self.permission_cache = PermissionCache(SqlSubjects(engine))
        self.events, self.people, self.catalogue = SqlEvents(engine), People(engine), SqlCatalogue(engine)
        self.subscriptions, self.holding = Subscriptions(engine), Holding(engine)
        self.removed, self.firings = RetentionProgress(engine), Firings(engine)


def runner(history: LakeParts, engine: Engine) -> Runner[Backtest]:
    """Wire the runner of requested backtests over the history and the store behind ``engine``."""
    parts = BacktestParts(history, engine)

    def compute(request: Backtest, report: ReportProgress) -> Document:
        return backtest(request, parts, report)

    requests = Backtests(engine)
    return Runner("backtest", history.session, requests, ScheduledJobs(engine), compute, history.clock, KEPT_DAYS)


def backtest(request: Backtest, parts: BacktestParts, report: ReportProgress) -> Document:
    """Return the result of the backtest; events that its requester may not see do not count.

    Raises
    ------
    NotFound : the requester no longer exists
    InvalidInput : the alert is none that can be matched
    """
    run, history = _Run(request, parts), parts.history
    extent, count = history.extent_of(run.window)
    steps = list(extent.steps(run.window, parts.events_per_step))
    total, done_count = sum(step.event_count for step in steps), 0
    began_ms = history.clock.now_ms()
    report(done_count, total)
    for step in steps:
        events = part(history.session, history.place, step, run.window).coalesce(_cores(history.session))
        if step.segments and run.asks_of_breaking:
            events = judged_events(events)
        run.count(events, run.index, lambda: report(done_count, total))  # noqa: B023  called now
        done_count += step.event_count
        report(done_count, total)
    if run.at_reports is not None:
        reports = status_events(history.session, history.place, extent.log_end, run.window)
        run.count(reports, run.at_reports, lambda: report(done_count, total))
    return run.result(count) | run.removal_note(extent) | {"tookMs": history.clock.now_ms() - began_ms}


def without_hidden(events: DataFrame, index: Index, viewable: Callable[[pa.Table], Iterator[pa.Table]]) -> DataFrame:
    """Return ``events`` (one row per event) to be matched with ``index`` where ``viewable`` lets them through.

    Hidden events that match by their facts are skipped: no condition is evaluated on what a person may not view, so
    that neither an error nor the time it takes tells about it.
    """
    candidates = one_row_per_pair(matches(events, index.by_facts(), columns=_OF_EVENT).toArrow()).sort_by("log_offset")
    visible_offsets = {offset for table in viewable(candidates) for offset in table["log_offset"].to_pylist()}
    hidden_offsets = set(candidates["log_offset"].to_pylist()) - visible_offsets
    alerts = index.subscription_ids()
    return with_skipped_alerts(events, dict.fromkeys(hidden_offsets, alerts)) if hidden_offsets else events


def similar_rows(matched: pa.Table, held_back: Collection[Pair]) -> pa.Table:
    """Return ``backtest_tasks.SIMILAR`` of ``matched`` (one row per match, in the order of the log).

    One row per entity, author, answers, alerts that are held back, and whole that the events are part of.
    """
    alerts_by_offset = defaultdict[int, list[str]](list)
    for offset, alert in sorted(held_back):
        alerts_by_offset[offset].append(alert)
    held_back_alerts = (
        pa.array([" ".join(alerts_by_offset.get(offset, ())) for offset in matched["log_offset"].to_pylist()])
        if alerts_by_offset
        else pa.repeat("", matched.num_rows)
    )
    keys = ["entity_id", "user_id", "asked", "held_back", "part_of"]
    groups = matched.append_column("held_back", held_back_alerts).group_by(keys, use_threads=False)
    groups_of_events = groups.aggregate([("log_offset", "list"), ("timestamp_ms", "list")])
    return groups_of_events.select(SIMILAR).sort_by(
        [(key, "ascending") for key in ("entity_id", "asked", "held_back", "part_of")]
    )


class _Run:
    """One backtest under way; ``at_reports`` is for what depends on earlier reports, if the alert asks for that."""

    def __init__(self, request: Backtest, parts: BacktestParts) -> None:
        viewer = parts.people.by_id(request.requested_by)
        if viewer is None:
            raise NotFound("The requester of the backtest no longer exists.")
        (alert,) = parts.subscriptions.with_past_names([alert_of(request.alert)], after=0)
        plan = replace(plan_of(alert), enabled=True)
        self.request, self.parts, self.viewer, self.tally = request, parts, viewer, BacktestTally()
        self.window = Window(request.since_ms, request.until_ms)
        self.index = index_of(between_reports([plan]))
        self.plan, self.asks_of_breaking = plan, plan.asks_of_breaking
        self.at_reports = index_of(at_reports([plan])) if plan.asks_of_streaks else None
        self.alerts = alerts_involved_in(alert, parts.subscriptions.list_enabled)
        self.held_back_matches = HeldBackMatches(parts.holding, self.alerts.facts.depending, self._hidden_assets)

    def count(self, events: DataFrame, index: Index, report: Callable[[], None]) -> None:
        """Count the matches of ``events`` (one row per event) and would-be notifications, a bounded part at a time."""
        if not self._sees_all(self.parts.permission_cache.current_policies()):
            events = without_hidden(events, index, self.viewable)
        match_table = one_row_per_pair(matches(events, index, columns=_OF_EVENT).drop("subscription_id").toArrow())
        visible_parts = list[pa.Table]()
        for visible_matches in self.viewable(match_table.sort_by("log_offset")):
            visible_parts.append(visible_matches)
            report()
        if not visible_parts:
            return
        visible_matches = pa.concat_tables(visible_parts)
        held_back_rows = self._find_held_back(visible_matches)
        self.tally.match(visible_matches)
        self.tally.count_held_back(held_back_rows)
        self.tally.add(self._count_recipients(visible_matches, held_back_rows))
        report()

    def _find_held_back(self, matched: pa.Table) -> frozenset[Pair]:
        """Return the matches that incidents hold back, of the alert and of those that it triggers."""
        if not self.alerts.facts.depending:
            return frozenset()
        columns = (matched[name].to_pylist() for name in ("log_offset", "entity_id"))
        return self.held_back_matches.held_back_pairs(zip(*columns, strict=True))

    def viewable(self, matched: pa.Table) -> Iterator[pa.Table]:
        """Yield what asker and editors may view of ``matched`` (one row per match), a bounded part at a time."""
        policies = self.parts.permission_cache.current_policies()
        for start in range(0, matched.num_rows, MATCHES_AT_ONCE):
            matches_part = matched.slice(start, MATCHES_AT_ONCE)
            visible_matches = (
                matches_part
                if self._sees_all(policies)
                else matches_part.filter(pa.array(self._sees(matches_part, policies)))
            )
            if hidden_offsets := self._withheld_offsets(visible_matches["log_offset"].to_pylist(), policies):
                visible_matches = visible_matches.filter(
                    pc.invert(pc.is_in(visible_matches["log_offset"], pa.array(hidden_offsets, pa.int64())))
                )
            if visible_matches.num_rows:
                yield visible_matches

    def _hidden_assets(self, assets: AlertAssets) -> AlertAssets:
        """Return which assets are hidden from alerts or, of the one that is evaluated, from the asker."""
        policies, own_id = self.parts.permission_cache.current_policies(), self.alerts.own_id
        events = RememberedEvents(self.parts.events, (self.request.requested_by,))
        of_tocsin = self.alerts.facts.of_tocsin
        of_alerts = hidden_assets({one for one in assets if one[0] not in of_tocsin}, policies, events)
        own_assets = {asset for alert, asset in assets if alert == own_id}
        asker, entities = policies.of(self.request.requested_by), events.entities(own_assets)
        visible_assets = {one for one, subject in entities.items() if asker.may(Operation.VIEW_BASIC, *subject)}
        return of_alerts | {(own_id, asset) for asset in own_assets - visible_assets if policies.is_limited(asker)}

    def _withheld_offsets(self, offsets: Sequence[int], policies: PolicySnapshot) -> list[int]:
        """Return those of these events that the alert would not match because an editor may not view them."""
        alert_id = self.alerts.own_id
        if alert_id in self.alerts.facts.of_tocsin:
            return []
        events = RememberedEvents(self.parts.events, (self.request.requested_by,))
        return [
            offset
            for offset, _ in withheld(dict.fromkeys(offsets, (alert_id,)), self.alerts.facts.reads, policies, events)
        ]

    def _count_recipients(self, matched: pa.Table, held_back: frozenset[Pair]) -> list[RecipientRow]:
        """Return the would-be recipients of these, as rows of ``COUNTED``."""
        session = self.parts.history.session
        work = Count(self.parts.store, self.plan, self.alerts.facts, self.request.requested_by, held_back)
        frame = session.createDataFrame(similar_rows(matched, held_back))
        counted: list[RecipientRow] = in_tasks(frame.coalesce(_cores(session)), work, COUNTED).toArrow().to_pylist()
        return counted

    def result(self, count: int) -> Document:
        """Return what all of it came to, in the words of the wire."""
        policies = self.parts.permission_cache.current_policies()
        visible_alerts = {self.alerts.own_id} | {
            alert.id
            for alert in self.alerts.triggered.values()
            if may_view(self.viewer, _ALERT, alert.to_wire(), policies)
        }
        offsets = dict.fromkeys(reversed(self.tally.newest[-MOST_SAMPLES:]))
        logged_events = self.parts.history.log.at(offsets)
        samples = [
            logged_events[offset].event.model_copy(update={"entity": None})
            for offset in offsets
            if offset in logged_events
        ]
        return {
            "events": count,
            **self.tally.counts(),
            "heldBack": self.tally.held_back[self.alerts.own_id],
            "triggered": [self._triggered_counts(one, visible_alerts) for one in self.alerts.triggered.values()],
            "recipients": [self._recipient(one, visible_alerts, policies) for one in self.tally.most_notified()],
            "samples": [event.to_wire() for event in samples],
            "compared": len(self.tally.newest),
            "overlaps": self._overlaps(policies),
            "people": "Owners, followers, team members and lineage as of each event; permissions as of today.",
            **({"states": _STATES_NOTE} if self.alerts.asks_for_states else {}),
        }

    def _overlaps(self, policies: PolicySnapshot) -> list[Document]:
        """Return the alerts of people that notified of the most events that this one matches, as the asker may know."""
        counts = self.parts.firings.overlaps(self.tally.newest, besides=self.alerts.own_id)
        alerts = {alert.id: alert for alert in self.parts.subscriptions.list_enabled(counts) if not alert.is_of_tocsin}
        return [
            {"id": alert_id, "name": alerts[alert_id].name, "matched": count}
            for alert_id, count in counts.most_common()
            if alert_id in alerts and may_view(self.viewer, _ALERT, alerts[alert_id].to_wire(), policies)
        ][:_MOST_OVERLAPS]

    def removal_note(self, extent: Extent) -> Document:
        """Return that retention has removed events of the window; how many, to who sees all."""
        log_count, lake_count = self.parts.removed.removed_counts(self.window.since_ms, self.window.until_ms)
        count = lake_count if extent.segments else log_count
        if not count:
            return {}
        number = f"{count:,} " if self._sees_all(self.parts.permission_cache.current_policies()) else ""
        return {"missing": f"Retention has removed {number}events of this time; they are not counted."}

    def _triggered_counts(self, alert: EventSubscription, visible_alerts: Collection[str]) -> Document:
        """Return what a triggered alert comes to; one that the asker may not see has no name."""
        counts = {"notified": self.tally.notified_by[alert.id], "heldBack": self.tally.held_back[alert.id]}
        return counts | ({"id": alert.id, "name": alert.name} if alert.id in visible_alerts else {})

    def _sees_all(self, policies: PolicySnapshot) -> bool:
        return self.viewer.is_admin or (not self.viewer.is_bot and policies.are_all_open())

    def _sees(self, matched: pa.Table, policies: PolicySnapshot) -> list[bool]:
        subjects = self.parts.events.subjects(set(matched["log_offset"].to_pylist()))
        return [
            all(may_view(self.viewer, *one, policies) for one in subjects[offset])
            for offset in matched["log_offset"].to_pylist()
        ]

    def _recipient(self, count: RecipientCount, visible_alerts: Collection[str], policies: PolicySnapshot) -> Document:
        """Return one recipient; who the asker may not see, or only by alerts that they may not see, has no name."""
        fields: Document = {"channel": count.channel, "notified": count.notified, "because": sorted(count.kinds)}
        alerts = sorted(count.alerts.intersection(visible_alerts))
        if self.alerts.triggered:
            fields |= {"alerts": alerts}
        if not alerts:
            return fields
        if count.recipient_id is None:
            names = self.alerts.destination_names(alerts, count.channel, count.target)
            return fields | {"target": shown_target(count.target)} | ({"destinations": names} if names else {})
        try:
            document = self.parts.catalogue.get("user", Key.by_id(count.recipient_id), "all")
        except NotFound:
            return fields
        is_shown = may_view(self.viewer, "user", document, policies)
        return fields | ({"id": count.recipient_id, "name": document["name"]} if is_shown else {})


def _cores(session: SparkSession) -> int:
    """Return how many tasks may run at once so that one core is left for the streaming queries."""
    return max(1, session.sparkContext.defaultParallelism - 1)

"""Readers that explanations, noise reports and dead letters use: relations, mutes, notifications, messages.

Next: ``server/alerts/explanations.py``.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import Engine

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.flow.match.streak import report_of, with_facts
from tocsin.flow.pipeline import Lookups
from tocsin.model.change import LoggedEvent
from tocsin.model.notification import NotificationIdScheme
from tocsin.store.catalogue.alerts.editors import StoredAlertEditors
from tocsin.store.catalogue.alerts.history import AlertHistory
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.people.address_codes import AddressCodes
from tocsin.store.catalogue.people.identities import People, unsubscribe_key
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.catalogue.people.substitutes import Substitutes
from tocsin.store.catalogue.relations.names import Names
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.addresses import Routes
from tocsin.store.outbox.current_state import CurrentStates
from tocsin.store.outbox.dead_letters import DeadLetters
from tocsin.store.outbox.deliveries import AlertDeliveries
from tocsin.store.outbox.destination_figures import FiguresOfDestinations
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.firings import Firings
from tocsin.store.outbox.health_summaries import HealthSummaries
from tocsin.store.outbox.incident_messages import IncidentMessages
from tocsin.store.outbox.match_results import MatchResults
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.next_digests import NextDigests
from tocsin.store.outbox.notification_ids import read_id_scheme
from tocsin.store.outbox.personal_notices import NoticeTexts
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.outbox.preferred_months import PreferredMonths
from tocsin.store.outbox.queue import EventQueue
from tocsin.store.outbox.records import Records
from tocsin.store.outbox.replays import Replays
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.team_preferences import SqlTeamPreferences
from tocsin.store.outbox.told_counts import ToldCounts
from tocsin.store.outbox.told_events import ToldEvents
from tocsin.store.outbox.told_months import ToldMonths
from tocsin.store.recipients.asked import AskedConsumers
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.followed_assets import FollowedAssets
from tocsin.store.recipients.holding import Holding
from tocsin.store.recipients.idle_follows import IdleFollows
from tocsin.store.recipients.mutes import Mutes
from tocsin.store.recipients.recommendations import Recommendations
from tocsin.store.recipients.related_incidents import RelatedIncidents
from tocsin.store.recipients.roots import Roots
from tocsin.store.recipients.team_follows import TeamFollows
from tocsin.store.recipients.wholes import Wholes
from tocsin.store.upkeep.retention.overview import RetentionOverview


class AlertStores:
    """Relations, mutes, stored notifications of an event, and what became of messages, behind one engine."""

    def __init__(self, engine: Engine, *, page_bytes: int | None = None, base_url: str = "") -> None:
        self.directory = SqlDirectory(engine)
        self.mutes = Mutes(engine)
        self.followed_assets = FollowedAssets(engine)
        self.team_follows = TeamFollows(engine)
        self.recommendations = Recommendations(engine)
        self.told_counts = ToldCounts(engine)
        self.told_months = ToldMonths(engine)
        self.preferences = SqlPreferences(engine)
        self.preferred_months = PreferredMonths(engine)
        self.substitutes = Substitutes(engine)
        self.team_preferences = SqlTeamPreferences(engine)
        self.address_codes = AddressCodes(engine)
        self.push_browsers = PushBrowsers(engine)
        self.records = Records(engine)
        self.events = SqlEvents(engine)
        self.editors = StoredAlertEditors(engine)
        self.match_results = MatchResults(engine)
        self.reports = Reports(engine)
        self.firings = Firings(engine)
        self.told_events = ToldEvents(engine)
        self.incidents = AlertIncidentLog(engine)
        self.incident_messages = IncidentMessages(engine)
        self.related_incidents = RelatedIncidents(engine)
        self.holding = Holding(engine)
        self.roots = Roots(engine)
        self.wholes = Wholes(engine)
        self.names = Names(engine)
        self.history = AlertHistory(engine, page_bytes=page_bytes)
        self.messages = Messages(engine)
        self.next_digests = NextDigests(engine, self.messages)
        self.routes = Routes(engine)
        self.failure_messages = FailureMessages(engine)
        self.current_states = CurrentStates(engine)
        self.asked_consumers = AskedConsumers(engine)
        self.deliveries = AlertDeliveries(engine)
        self.dead_letters = DeadLetters(engine)
        self.replays = Replays(engine)
        self.queue = EventQueue(engine)
        self.permitted = Permitted(engine)
        self.idle_follows = IdleFollows(engine)
        self.health_summaries = HealthSummaries(engine, self.permitted.permission_cache)
        self.notice_texts = NoticeTexts(engine, self.permitted.permission_cache, base_url=base_url)
        self.figures_of_destinations = FiguresOfDestinations(engine)
        self.retention = RetentionOverview(engine)
        self.unsubscribe_key = unsubscribe_key(People(engine))
        self._engine = engine

    def notification_ids(self) -> NotificationIdScheme:
        """Return the ids of the store's notifications."""
        return read_id_scheme(self._engine)

    def lookups(self, policies: PolicySnapshot) -> Lookups:
        """Return what the stages of the pipeline look up; they change nothing."""
        return Lookups(
            directory=self.directory,
            policies=policies,
            events=self.events,
            find_held_back=partial(self.holding.find_held_back, may_claim=False),
            find_roots=self.roots.of,
            find_wholes=self.wholes.of,
            find_preferences=self.preferences.of_recipients,
            ids=self.notification_ids(),
        )


def with_streaks(logged: LoggedEvent, alert_stores: AlertStores) -> LoggedEvent:
    """Return an event with what its entity's earlier reports make of it, which conditions may ask for."""
    return logged if report_of(logged) is None else with_facts(logged, alert_stores.reports.before(logged))

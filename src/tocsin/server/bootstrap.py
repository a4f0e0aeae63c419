"""Bootstrap of the first start: an administrator, the default policies and roles, and the default alerts.

Idempotent, also when run by two processes at once. Next: ``access/defaults.py``.
"""

from __future__ import annotations

import contextlib

from sqlalchemy import Engine

from tocsin.access.defaults import POLICIES, ROLES, ROOT_TEAM
from tocsin.alerts.events import EVENT_LAG, MESSAGES_OF_ASSETS, MESSAGES_OF_CONVERSATIONS
from tocsin.catalogue.naming.policy_names import settle_policies
from tocsin.catalogue.seed_entities import establish
from tocsin.catalogue.writes import Writes
from tocsin.clock import SystemClock
from tocsin.errors import Conflict
from tocsin.flow.capture.json_patch import PatchOperation
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.personal_notice import FOR_ONE_ALONE
from tocsin.model.stored import Key, Stored, Written
from tocsin.model.subscription import Channel
from tocsin.server.login.tokens import hash_password, new_password
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.sealing import seal_alerts
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People, ensure_administrator
from tocsin.store.catalogue.people.own_addresses import seal_own_addresses
from tocsin.store.catalogue.people.push_browsers import PushBrowsers
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.job_runs import ScheduledJobs

ADMINISTRATOR: Document = {
    "name": "admin",
    "displayName": "Administrator",
    "email": "admin@tocsin.example.org",
    "isAdmin": True,
}
"""Who can log in after the first start."""

_OF_TOCSIN: Document = {"provider": "system", "enabled": True, "trigger": {"triggerType": "RealTime"}}
_SENDING: Document = {"batchSize": 100, "retries": 3, "pollInterval": 60}

ACTIVITY_FEED_ALERT: Document = {
    "name": "ActivityFeedAlert",
    "displayName": "Activity feed",
    "description": "Notifies owners and followers of an asset of its changes, in the app.",
    "alertType": "ActivityFeed",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["all"],
        "rules": [
            {
                "name": "notOnlyFollowersOrVotes",
                "description": "Follows and votes notify nobody else.",
                "effect": "exclude",
                "condition": "onlyFieldsChanged('followers', 'votes')",
            },
            {
                "name": "notOnlyUsage",
                "description": "Daily usage and profiles would notify every day.",
                "effect": "exclude",
                "condition": "onlyFieldsChanged('usageSummary', 'profile')",
                "prefixCondition": "AND",
            },
            {
                "name": "onlyAnnouncements",
                "description": "Conversations and tasks notify their participants only; announcements notify all.",
                "effect": "exclude",
                "condition": "entityType == 'thread' && (threadType != 'Announcement' || eventType != 'threadCreated')",
            },
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001", "category": "Followers", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0002", "category": "Owners", "type": "ActivityFeed"},
    ],
    **_SENDING,
}
"""The default alert for in-app notifications."""

_OF_BROKEN_ALERTS = (
    "matchAnyEventType({'destinationFailing','destinationStopped','alertNarrowed','alertExpiring','alertExpired'})"
)

_OF_CHANGE_REQUESTS = "matchAnyEventType({'changeRequestUpdated','changeRequestAnswered','changeRequestReminder'})"

_OF_HANDLED_INCIDENTS = "matchAnyEventType({'alertIncidentUpdated'}) || onlyFieldsChanged('incidentStatus')"

_FORMER_CONDITIONS = {
    "fieldChanged == 'followers' || fieldChanged == 'votes'": "onlyFieldsChanged('followers', 'votes')",
    "fieldChanged == 'usageSummary' || fieldChanged == 'profile'": "onlyFieldsChanged('usageSummary', 'profile')",
    "matchAnyEventType({'destinationFailing','destinationStopped'})": _OF_BROKEN_ALERTS,
    "matchAnyEventType({'destinationFailing','destinationStopped','alertNarrowed'})": _OF_BROKEN_ALERTS,
    "matchAnyEventType({'changeRequestUpdated'})": _OF_CHANGE_REQUESTS,
    "matchAnyEventType({'alertIncidentUpdated'})": _OF_HANDLED_INCIDENTS,
}
"""Conditions of earlier versions, with what they are now."""

CONVERSATION_ALERT: Document = {
    "name": "ConversationAlert",
    "displayName": "Conversations",
    "description": "Notifies people who are mentioned, assigned, participating, or owners of the subject, in the app.",
    "alertType": "ActivityFeed",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["conversation", "task", "announcement"],
        "rules": [
            {
                "name": "whatIsNew",
                "description": "New messages, assigned tasks and finished tasks; not reactions or edits.",
                "effect": "include",
                "condition": "matchAnyEventType({'threadCreated','postCreated','taskResolved','taskClosed'})"
                " || fieldChanged == 'task.assignees' || mentions != null",
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0003", "category": "Mentions", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0004", "category": "Assignees", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0005", "category": "Owners", "type": "ActivityFeed"},
    ],
    **_SENDING,
}
"""The default alert for threads: the other one leaves threads out, announcements excepted."""

CHANGE_REQUESTS_ALERT: Document = {
    "name": "ChangeRequests",
    "displayName": "Change requests",
    "description": "Mails, and shows in the app, what change requests ask: who answers for a consumer, and on the date"
    " the author, who hears of each answer as well.",
    "alertType": "Notification",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["all"],
        "rules": [
            {
                "name": "changeRequests",
                "description": "Announced, moved, withdrawn, due but not done; answers, and reminders.",
                "effect": "include",
                "condition": _OF_CHANGE_REQUESTS,
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0010", "category": "Assignees", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0011", "category": "Assignees", "type": "Email"},
    ],
    **_SENDING,
}
"""The default alert of change requests."""


ASSIGNED_INCIDENTS_ALERT: Document = {
    "name": "AssignedIncidents",
    "displayName": "Assigned incidents",
    "description": "Tells people, in the app, by mail and at their own addresses in chats, that an incident is assigned"
    " to them, and what others do to it.",
    "alertType": "Notification",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["all"],
        "rules": [
            {
                "name": "handledIncidents",
                "description": "Assigned, acknowledged, commented or resolved.",
                "effect": "include",
                "condition": _OF_HANDLED_INCIDENTS,
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0016", "category": "Assignees", "type": "ActivityFeed"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0017", "category": "Assignees", "type": "Email"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0018", "category": "Assignees", "type": "Slack"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0019", "category": "Assignees", "type": "MsTeams"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0020", "category": "Assignees", "type": "GChat"},
    ],
    **_SENDING,
}
"""The default alert of incidents: an assignee need neither own nor follow what fails."""


PERSONAL_NOTICES: Document = {
    "name": "PersonalNotices",
    "displayName": "Notices to you",
    "description": "Mails people, and tells them at their own addresses in chats, what Tocsin itself tells each of them"
    " alone: their health summary, mutes and idle follows that end, and advice to who follows very much.",
    "alertType": "Notification",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["conversation"],
        "rules": [
            {
                "name": "ofTocsin",
                "description": "Threads that Tocsin itself begins, and that say what only their person may read.",
                "effect": "include",
                "condition": "eventType == 'threadCreated' && userId == 'system'"
                f" && entity.message.contains('{FOR_ONE_ALONE}')",
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0012", "category": "Mentions", "type": "Email"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0013", "category": "Mentions", "type": "Slack"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0014", "category": "Mentions", "type": "MsTeams"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0015", "category": "Mentions", "type": "GChat"},
    ],
    **_SENDING,
}
"""The default alert of notices to one person: the inbox has them by the alert of conversations."""


BROKEN_ALERTS: Document = {
    "name": "BrokenAlerts",
    "displayName": "Broken alerts",
    "description": "Mails the owners of an alert, and shows administrators, that a destination of it fails, that it"
    " covers less because an editor of it is deleted or may view less, or that it expires.",
    "alertType": "Notification",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["eventsubscription"],
        "rules": [
            {
                "name": "failingDestinations",
                "description": "Half of the five days of nothing but failures, nine tenths of them, and the end.",
                "effect": "include",
                "condition": _OF_BROKEN_ALERTS,
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0006", "category": "Owners", "type": "Email"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0007", "category": "Admins", "type": "ActivityFeed"},
    ],
    **_SENDING,
}
"""The default alert about alerts: its channels are others than those that fail."""

EVENT_LAG_ALERT: Document = {
    "name": EVENT_LAG,
    "displayName": "Event lag",
    "description": "Mails administrators, and shows them in the app, that a reader of the event log is too far behind,"
    " or no longer. The limits are settings, event_lag_limit and event_lag_limits.",
    "alertType": "Notification",
    **_OF_TOCSIN,
    "filteringRules": {
        "resources": ["eventsubscription"],
        "rules": [
            {
                "name": "lags",
                "description": "The lag of a reader is exceeded, or has recovered.",
                "effect": "include",
                "condition": "matchAnyEventType({'lagExceeded','lagRecovered'})",
            }
        ],
    },
    "destinations": [
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0008", "category": "Admins", "type": "Email"},
        {"id": "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0009", "category": "Admins", "type": "ActivityFeed"},
    ],
    **_SENDING,
}
"""The default alert about the lags of readers of the log."""


_OVER = (Channel.EMAIL, Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT, Channel.WEBHOOK)


def _as_messages(alert: Document, name: str, display_name: str, place: int) -> Document:
    """Return the alert that sends messages of what ``alert`` shows in the app: mails, and to own addresses.

    ``place`` numbers the first of its destinations.
    """
    categories = [destination["category"] for destination in alert["destinations"]]
    cells = enumerate(((category, channel) for category in categories for channel in _OVER), place)
    return alert | {
        "name": name,
        "displayName": display_name,
        "description": f"Sends by mail, and to own addresses in chats and webhooks, what {alert['name']} shows in the"
        " app, as each person's preferences say.",
        "alertType": "Notification",
        "destinations": [
            {"id": f"6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a{number:04d}", "category": category, "type": channel.value}
            for number, (category, channel) in cells
        ],
    }


MESSAGE_ALERTS = (
    _as_messages(ACTIVITY_FEED_ALERT, MESSAGES_OF_ASSETS, "Messages of assets", 100),
    _as_messages(CONVERSATION_ALERT, MESSAGES_OF_CONVERSATIONS, "Messages of conversations", 200),
)
"""The default alerts by which owners and followers get messages: enabled in new stores that have a mail server."""


def _as_pushes(alert: Document, name: str, display_name: str, place: int) -> Document:
    """Return the alert that tells browsers of what ``alert`` shows in the app; ``place`` as of ``_as_messages``."""
    categories = dict.fromkeys(destination["category"] for destination in alert["destinations"])
    return alert | {
        "name": name,
        "displayName": display_name,
        "description": f"Tells the browsers in which people take messages of what {alert['name']} shows in the app, as"
        " each person's preferences say.",
        "alertType": "Notification",
        "destinations": [
            {"id": f"6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a{number:04d}", "category": category, "type": Channel.PUSH.value}
            for number, category in enumerate(categories, place)
        ],
    }


PUSH_ALERTS = (
    _as_pushes(ACTIVITY_FEED_ALERT, "PushOfAssets", "Push messages of assets", 300),
    _as_pushes(CONVERSATION_ALERT, "PushOfConversations", "Push messages of conversations", 310),
    _as_pushes(CHANGE_REQUESTS_ALERT, "PushOfChangeRequests", "Push messages of change requests", 320),
    _as_pushes(ASSIGNED_INCIDENTS_ALERT, "PushOfIncidents", "Push messages of assigned incidents", 330),
)
"""The default alerts of web push: only where that is switched on, for clients of OpenMetadata know no such type."""

_DEFAULT_ALERTS = (
    *(ACTIVITY_FEED_ALERT, CONVERSATION_ALERT, CHANGE_REQUESTS_ALERT, ASSIGNED_INCIDENTS_ALERT, PERSONAL_NOTICES),
    *(BROKEN_ALERTS, EVENT_LAG_ALERT),
)

POLICY_NAMES = "policy names"
"""The job that settles the names in policies of earlier releases: done once for a store."""

MESSAGES = "messages of assets"
"""The job that decides whether ``MESSAGE_ALERTS`` are enabled: done once for a store."""


def first_start(engine: Engine, settings: Settings) -> str | None:
    """Bring the store to the newest schema and make what a server cannot do without.

    Returns the administrator's password when this call set it, else None. Doing it again, or in two processes at
    once, changes nothing more.
    """
    use_vault(engine, settings)
    migrate(engine)
    seal_alerts(engine)
    seal_own_addresses(engine)
    catalogue = SqlCatalogue(engine)
    writes = Writes(catalogue, SystemClock())
    people = People(engine)

    def create_administrator() -> str:
        _create_once(writes, "user", ADMINISTRATOR)
        administrator = people.by_name(ADMINISTRATOR["name"])
        assert administrator is not None  # noqa: S101  created by this process or another one
        return administrator.id

    for request in POLICIES:
        _create_once(writes, "policy", request)
    for request in ROLES:
        _create_once(writes, "role", request)
    _create_once(writes, "team", ROOT_TEAM)
    password = ensure_administrator(people, create_administrator, password=new_password(), hash_password=hash_password)
    _settle_messages_once(engine, writes, catalogue, has_mail_server=settings.smtp_host is not None)
    if not settings.web_push:
        PushBrowsers(engine).remove_all()
    push_alerts = PUSH_ALERTS if settings.web_push else ()
    for alert in (*_DEFAULT_ALERTS, *push_alerts):
        _create_once(writes, "eventsubscription", alert)
    for alert in (ACTIVITY_FEED_ALERT, CHANGE_REQUESTS_ALERT, ASSIGNED_INCIDENTS_ALERT, BROKEN_ALERTS, *push_alerts):
        _renew_conditions(writes, catalogue, Key.by_name(alert["name"]))
    establish(writes)
    _settle_policies_once(engine, writes)
    return password


def _create_once(writes: Writes, entity_type: str, request: Document) -> None:
    with contextlib.suppress(Conflict):  # made by an earlier start, or by another process just now
        writes.create(entity_type, request, actor=SYSTEM)


def _settle_messages_once(engine: Engine, writes: Writes, catalogue: SqlCatalogue, *, has_mail_server: bool) -> None:
    """Create ``MESSAGE_ALERTS``, and enable them once: in a new store, at its first start with a mail server.

    A store without any of them but with ``ACTIVITY_FEED_ALERT`` is of an earlier release, in which they stay disabled.
    That is noted before they are there, so that no crash, and no other process, takes it for a new one.
    """
    has_some = any(_is_stored(catalogue, alert) for alert in MESSAGE_ALERTS)
    is_older = not has_some and _is_stored(catalogue, ACTIVITY_FEED_ALERT)
    jobs = ScheduledJobs(engine)
    if is_older:
        jobs.ran(MESSAGES, now_ms=SystemClock().now_ms())
    is_enabled_now = has_mail_server and not jobs.ran_at_ms(MESSAGES)
    for alert in MESSAGE_ALERTS:
        _create_once(writes, "eventsubscription", alert | {"enabled": is_enabled_now})
        if is_enabled_now:
            _enable_untouched(writes, catalogue, Key.by_name(alert["name"]))
    if is_enabled_now:
        jobs.ran(MESSAGES, now_ms=SystemClock().now_ms())


def _is_stored(catalogue: SqlCatalogue, alert: Document) -> bool:
    return catalogue.reference("eventsubscription", Key.by_name(alert["name"])) is not None


def _enable_untouched(writes: Writes, catalogue: SqlCatalogue, alert: Key) -> None:
    """Enable an alert that waits for a mail server; one that an administrator has changed stays as it is."""
    stored_alert = catalogue.get("eventsubscription", alert)
    if not stored_alert.get("enabled", True) and stored_alert["updatedBy"] == SYSTEM.name:
        writes.patch("eventsubscription", alert, [{"op": "add", "path": "/enabled", "value": True}], actor=SYSTEM)


def _settle_policies_once(engine: Engine, writes: Writes) -> None:
    """Settle the names in policies of earlier releases, at the first start of this one."""
    jobs = ScheduledJobs(engine)
    if not jobs.ran_at_ms(POLICY_NAMES):
        writes.on_entity("team", Key.by_name(ROOT_TEAM["name"]), _settle_policies, actor=SYSTEM)
        jobs.ran(POLICY_NAMES, now_ms=SystemClock().now_ms())


def _settle_policies(record: Record, root: Stored) -> Written:
    settle_policies(record)
    return Written(root.document, None)


def _renew_conditions(writes: Writes, catalogue: SqlCatalogue, alert: Key) -> None:
    """Replace former conditions of a default alert; what an administrator wrote stays."""
    stored = catalogue.get("eventsubscription", alert)
    conditions = [rule["condition"] for rule in stored["filteringRules"]["rules"]]
    operations: list[PatchOperation] = [
        {"op": "replace", "path": f"/filteringRules/rules/{at}/condition", "value": _FORMER_CONDITIONS[condition]}
        for at, condition in enumerate(conditions)
        if condition in _FORMER_CONDITIONS
    ]
    if operations:
        writes.patch("eventsubscription", alert, operations, actor=SYSTEM)

"""Event subscriptions (alerts, towards users) in their wire form.

Source: seeds/001 and OpenMetadata 1.13 ``events/eventSubscription.json``. Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal
from uuid import uuid5

from pydantic import AfterValidator, Field

from tocsin.model.entity import Document, EntityReference, WireModel
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import NAMESPACE
from tocsin.model.saved_search import SavedSearch
from tocsin.model.severity import Severity
from tocsin.model.thread import RESOURCES as THREADS
from tocsin.model.thread import THREAD

ALL_RESOURCES = "all"
"""The resource of an alert that is about everything."""

DEFAULT_BATCH_SIZE = 100

BATCH_BY_ALL = "all"
"""The ``batchBy`` of a webhook that gets arrays of events of all types."""

BATCH_BY_ENTITY_TYPE = "entityType"
"""The ``batchBy`` of a webhook, and the ``groupBy`` of a claim, that gets events of one entity type at a time."""

LONGEST_DESTINATION_NAME = 100
"""Most characters of what a destination is called."""

CONNECT_S = (1, 30)
"""Least and most seconds that ``timeout`` may grant for a connection."""

REPEAT_S = (300, 2_592_000)
"""Least and most seconds between two reminders of an incident: 5 minutes, 30 days."""

READ_S = (1, 120)
"""Least and most seconds that ``readTimeout`` may grant for an answer."""


class AlertType(StrEnum):
    """What an alert is for."""

    NOTIFICATION = "Notification"
    OBSERVABILITY = "Observability"
    ACTIVITY_FEED = "ActivityFeed"
    GOVERNANCE_WORKFLOW_CHANGE_EVENT = "GovernanceWorkflowChangeEvent"
    CUSTOM = "Custom"


class Category(StrEnum):
    """Category of a destination: who is notified."""

    USERS = "Users"
    TEAMS = "Teams"
    ADMINS = "Admins"
    ASSIGNEES = "Assignees"
    OWNERS = "Owners"
    MENTIONS = "Mentions"
    FOLLOWERS = "Followers"
    EXTERNAL = "External"


class Channel(StrEnum):
    """Channel of a destination (upstream's ``subscriptionType``)."""

    WEBHOOK = "Webhook"
    SLACK = "Slack"
    MS_TEAMS = "MsTeams"
    G_CHAT = "GChat"
    EMAIL = "Email"
    ACTIVITY_FEED = "ActivityFeed"
    GOVERNANCE_WORKFLOW_CHANGE_EVENT = "GovernanceWorkflowChangeEvent"
    PUSH = "Push"
    """Of ours: messages to the browsers of people, by web push."""


TO_PEOPLE = frozenset({Channel.EMAIL, Channel.ACTIVITY_FEED, Channel.PUSH})
"""Channels by which Tocsin itself reaches a person. All others lead to an address, or use credentials, of the alert."""


class TriggerType(StrEnum):
    """When a subscription fires."""

    REAL_TIME = "RealTime"
    SCHEDULED = "Scheduled"


class ScheduleFrequency(StrEnum):
    """How often a scheduled trigger fires."""

    DAILY = "Daily"
    WEEKLY = "Weekly"
    MONTHLY = "Monthly"
    CUSTOM = "Custom"


class GroupBy(StrEnum):
    """What a real-time alert gathers together for a recipient, within its ``poll_interval``."""

    ALERT = "alert"
    ASSET = "asset"
    LINEAGE_ROOT = "lineageRoot"
    NONE = "none"


class Gathering(StrEnum):
    """How the messages of a channel carry several notifications."""

    NONE = "none"
    SUMMARY = "summary"
    """As many as there are: some are shown, the others counted."""
    ARRAYS = "arrays"
    """Each in full, in arrays, if the alert sends any."""


class Effect(StrEnum):
    """Whether a rule lets matching events through or keeps them out."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class PrefixCondition(StrEnum):
    """How a rule is joined to the one before it."""

    AND = "AND"
    OR = "OR"


class SubscriptionState(StrEnum):
    """How a destination fares; the schema's ``status`` text says what leads to each."""

    DISABLED = "disabled"
    FAILED = "failed"
    RETRY_LIMIT_REACHED = "retryLimitReached"
    AWAITING_RETRY = "awaitingRetry"
    ACTIVE = "active"


class Trigger(WireModel):
    """When to fire; ``cron_expression`` goes before ``schedule_info``; ``timezone`` is an IANA name, UTC if omitted.

    ``group_by`` is for real-time triggers: what is gathered within the alert's ``poll_interval``. With
    ``send_resolved`` an alert on failures notifies of the success after them as well. With a ``repeat_interval``, in
    seconds, it reminds of each incident that nobody has acknowledged.
    """

    trigger_type: TriggerType = TriggerType.REAL_TIME
    schedule_info: ScheduleFrequency | None = None
    cron_expression: str | None = None
    timezone: str | None = None
    group_by: GroupBy | None = None
    send_resolved: bool = False
    repeat_interval: int | None = Field(default=None, ge=REPEAT_S[0], le=REPEAT_S[1])

    @property
    def schedule_id(self) -> str:
        """Return the id of the times of a scheduled trigger: alerts with the same expression and zone share one."""
        times = self.cron_expression or self.schedule_info or ScheduleFrequency.WEEKLY
        return str(uuid5(NAMESPACE, f"schedule|{times}|{self.timezone or 'UTC'}"))


class FilteringRule(WireModel):
    """One condition and its effect. Source: ``events/eventFilterRule.json``."""

    name: str | None = None
    display_name: str | None = None
    fully_qualified_name: str | None = None
    description: str | None = None
    effect: Effect = Effect.INCLUDE
    condition: str
    arguments: tuple[str, ...] | None = None
    input_type: Literal["static", "runtime", "none"] | None = None
    prefix_condition: PrefixCondition = PrefixCondition.AND


def own_names(resources: Iterable[str]) -> tuple[str, ...]:
    """Return resources by their own names, each once, however they are written; an unknown one as it is."""
    return tuple(dict.fromkeys(_RESOURCES.get(resource.lower(), resource) for resource in resources))


_RESOURCES = {name.lower(): name for name in (ALL_RESOURCES, *ENTITY_TYPES, THREAD, *THREADS)}


class FilteringRules(WireModel):
    """Which events a subscription is about: types of resource, rules and actions that must all hold.

    Resources may be written in any case; here they have their own.
    """

    resources: Annotated[tuple[str, ...], AfterValidator(own_names)]
    rules: tuple[FilteringRule, ...] = ()
    actions: tuple[FilteringRule, ...] = ()


class PastRules(WireModel):
    """The rules of a subscription with the names that entities had in events below an offset of the log."""

    until_offset: int
    rules: FilteringRules


class DestinationConfig(WireModel):
    """Where a destination sends to; which keys count depends on its channel.

    Source: ``events/emailAlertConfig.json`` and ``entity/events/webhook.json``, plus the seed's
    ``secretKey`` and our ``payloadFormat``, ``bodyTemplate``, ``compression``, ``verification``, ``batchBy``,
    ``botToken``, ``signingSecret`` and ``channel``. Secrets are masked in what is read back.
    """

    receivers: tuple[str, ...] = ()
    send_to_admins: bool = False
    send_to_owners: bool = False
    send_to_followers: bool = False
    endpoint: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    query_params: dict[str, str] = Field(default_factory=dict)
    http_method: str = "POST"
    secret_key: str | None = None
    auth_type: Document | None = None
    payload_format: str | None = None
    body_template: str | None = None
    compression: str | None = None
    verification: str | None = None
    batch_by: str | None = None
    bot_token: str | None = None
    signing_secret: str | None = None
    channel: str | None = None


class Destination(WireModel):
    """A destination: recipients and channel, and what people call it. ``timeout`` and ``read_timeout`` are seconds."""

    id: str
    name: str | None = Field(default=None, min_length=1, max_length=LONGEST_DESTINATION_NAME)
    category: Category
    type: Channel
    timeout: int = 10
    read_timeout: int = 12
    enabled: bool = True
    config: DestinationConfig = Field(default_factory=DestinationConfig)
    notify_downstream: bool = False
    downstream_depth: int | None = Field(default=None, ge=1)

    @property
    def label(self) -> str:
        """Return what people read of it: ``#data-alerts (External by Slack)``."""
        way = f"{self.category.value} by {self.type.value}"
        return f"{self.name} ({way})" if self.name else way

    @property
    def uses_own_addresses(self) -> bool:
        """Return whether it sends to the addresses that people and teams have in their profiles."""
        is_to_people = self.category is not Category.EXTERNAL and self.type not in TO_PEOPLE
        return is_to_people and self.type is not Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT and not self.config.bot_token

    @property
    def has_no_receiver(self) -> bool:
        """Return whether it is for users or teams, names none of them, and has no flag that selects people."""
        config = self.config
        flags = config.send_to_admins or config.send_to_owners or config.send_to_followers
        return self.category in (Category.USERS, Category.TEAMS) and not (config.receivers or flags)

    @property
    def sends_arrays(self) -> bool:
        """Return whether it is a webhook that gets arrays of events, and not one event per request."""
        return self.type is Channel.WEBHOOK and self.config.batch_by in (BATCH_BY_ALL, BATCH_BY_ENTITY_TYPE)

    @property
    def sends_types_apart(self) -> bool:
        """Return whether each array that it gets holds events of one entity type only."""
        return self.sends_arrays and self.config.batch_by == BATCH_BY_ENTITY_TYPE


DESTINATION_DEFAULTS: Document = {
    "enabled": True,
    "timeout": 10,
    "readTimeout": 12,
    "notifyDownstream": False,
    "downstreamDepth": None,
}
"""What destinations are shown with where nothing else is stored."""


def without_destination_names(alert: Document) -> Document:
    """Return an alert's document without the names of its destinations, which strict clients refuse."""
    destinations = alert.get("destinations")
    if not isinstance(destinations, list):
        return alert
    unnamed = [{key: value for key, value in one.items() if key != "name"} for one in destinations]
    return {**alert, "destinations": unnamed}


def with_destination_names(alert: Document, stored: Document) -> Document:
    """Return an alert's document with the stored names of destinations that say none, by their ids.

    Strict clients, which read destinations without names, send back what they have read.
    """
    destinations = alert.get("destinations")
    if not isinstance(destinations, list):
        return alert
    names = {one["id"]: {"name": one["name"]} for one in stored.get("destinations") or () if "name" in one}
    full_destinations = [
        {**names.get(str(destination.get("id")), {}), **destination} if isinstance(destination, dict) else destination
        for destination in destinations
    ]
    return {**alert, "destinations": full_destinations}


def with_destination_defaults(alert: Document) -> Document:
    """Return an alert's document with the defaults of its destinations."""
    destinations = alert.get("destinations")
    if not isinstance(destinations, list):
        return alert
    return {**alert, "destinations": [{**one, **DESTINATION_DEFAULTS, **one} for one in destinations]}


def without_defaults(destination: Document, stored: Document | None = None) -> Document:
    """Return a destination without the defaults that it is shown with, unless they are ``stored``."""
    stored_keys = stored or {}
    return {
        key: value
        for key, value in destination.items()
        if key in stored_keys or key not in DESTINATION_DEFAULTS or value != DESTINATION_DEFAULTS[key]
    }


def bot_key_of(token: str) -> str:
    """Return a hash of a bot's token, by which bots are told apart; the token cannot be derived from it."""
    return sha256(f"bot {token}".encode()).hexdigest()[:32]


class EventSubscription(WireModel):
    """A stored alert: what to match, whom to notify, over which channels.

    ``batch_size`` counts events, ``poll_interval`` is seconds, ``since_offset`` (never on the wire) is the first log
    offset that it covers: what follows the event that created it or last enabled it. ``created_at_ms`` is when it was
    created, ``creator_id`` by whom (empty: by Tocsin itself); ``is_of_administrators`` says whether nobody but
    administrators, or Tocsin itself, has created or changed it, ``bots`` tells the bots of its destinations apart
    (``bot_key_of``), by destination; ``past_rules`` are its rules before renames, newest first. ``triggers`` are the
    alerts that notify of what it matches as well; incidents of those that it ``depends_on`` hold it back. ``severity``
    says how bad it is that it fires, ``runbook`` what is to be done then: an address, or a short text.
    It ``expires`` at a moment in epoch milliseconds. Whomever its destinations name, an alert ``to_me_only`` tells its
    one owner and nobody else. The rules of an alert with a ``search`` are made from that.
    """

    id: str
    name: str
    fully_qualified_name: str
    display_name: str | None = None
    description: str | None = None
    alert_type: AlertType
    owners: tuple[EntityReference, ...] = ()
    domains: tuple[EntityReference, ...] = ()
    trigger: Trigger = Field(default_factory=Trigger)
    filtering_rules: FilteringRules | None = None
    destinations: tuple[Destination, ...] = ()
    enabled: bool = True
    batch_size: int = DEFAULT_BATCH_SIZE
    provider: str = "user"
    retries: int = 3
    poll_interval: int = 60
    notification_template: EntityReference | None = None
    input: Document | None = None
    tags: tuple[Document, ...] = ()
    triggers: tuple[EntityReference, ...] = ()
    depends_on: tuple[EntityReference, ...] = ()
    severity: Severity | None = None
    runbook: str | None = None
    expires: int | None = None
    to_me_only: bool = False
    search: SavedSearch | None = None
    created_at_ms: int = Field(default=0, exclude=True)
    since_offset: int = Field(default=0, exclude=True)
    creator_id: str = Field(default="", exclude=True)
    is_of_administrators: bool = Field(default=False, exclude=True)
    bots: dict[str, str] = Field(default_factory=dict, exclude=True)
    past_rules: tuple[PastRules, ...] = Field(default=(), exclude=True)

    def rules_at(self, offset: int) -> FilteringRules:
        """Return the rules with the names that entities had in the event at an offset of the log."""
        past = [one.rules for one in self.past_rules if offset < one.until_offset]
        return past[-1] if past else self.filtering_rules or FilteringRules(resources=())

    @property
    def is_of_tocsin(self) -> bool:
        """Return whether it is one of Tocsin's own alerts: what it matches depends on nobody's rights."""
        return self.provider == "system"

    @property
    def sends_arrays(self) -> bool:
        """Return whether a webhook of its gets arrays, for which it gathers notifications."""
        return any(one.sends_arrays for one in self.destinations)

    @property
    def is_critical(self) -> bool:
        """Return whether one of its tags is called ``Critical``, of whatever classification."""
        return any(str(tag.get("tagFQN", "")).rpartition(".")[2].lower() == "critical" for tag in self.tags)


_KEYS = frozenset(field.alias or name for name, field in EventSubscription.model_fields.items())


def alert_of(document: Document, *, created_at_ms: int = 0, since_offset: int = 0) -> EventSubscription:
    """Return what a subscription's document means; keys that only its readers know are left out."""
    fields = {key: value for key, value in document.items() if key in _KEYS}
    ours = {
        "createdAtMs": created_at_ms,
        "sinceOffset": since_offset,
        "creatorId": "",
        "isOfAdministrators": False,
        "bots": {},
        "pastRules": (),
    }
    return EventSubscription.model_validate(fields | ours)

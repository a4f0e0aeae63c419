"""Routes of destinations: the current address and template, and whether sending is allowed.

Read shortly before sending, so that a disabled, deleted or removed destination receives nothing.
Next: ``delivery/channels``.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy import Engine, select

from tocsin.clock import Steady, steady_s
from tocsin.delivery.dispatch import RenderingAccount, Route, Share
from tocsin.errors import StaleSecrets, WrongKey
from tocsin.flow.schedule.decide import rank_of
from tocsin.model.subscription import Destination, EventSubscription, GroupBy, bot_key_of
from tocsin.model.template import NOTIFICATION_TEMPLATE, SYSTEM, Template
from tocsin.store.catalogue.alerts.subscriptions import UNREADABLE, ForSending, Subscriptions, UnreadableError
from tocsin.store.database.engine import fetch_value, fetch_values
from tocsin.store.database.tables import entity

SYSTEM_AGE_S = 5.0
"""System templates are read again when they are older than this."""


class Routes:
    """The destinations of one store, secrets in clear."""

    def __init__(self, engine: Engine) -> None:
        self._subscriptions = Subscriptions(engine)
        self._templates = _Templates(engine)

    def of(self, subscription_id: str) -> dict[str, Route]:
        """Return the routes of a subscription by destination id; none when it is gone.

        Where its secrets cannot be opened, or are being changed, all its destinations wait.
        """
        subscription, waits_because = self._find_subscription(subscription_id)
        return {} if subscription is None else self._routes_of(subscription, waits_because)

    def of_all(self, subscription_ids: Collection[str]) -> dict[str, dict[str, Route] | UnreadableError]:
        """Return, for each of these, what ``of`` returns, or what it raises because this one cannot be read.

        They are read together. Only a template, and whose workspace a bot is of, take a statement of their own.
        """
        routes: dict[str, dict[str, Route] | UnreadableError] = {one: {} for one in subscription_ids}
        for alert, outcome in self._subscriptions.for_sending(subscription_ids).items():
            try:
                routes[alert] = self._routes_of(*outcome) if isinstance(outcome, ForSending) else outcome
            except UNREADABLE as error:
                routes[alert] = error
        return routes

    def without_secrets(self, subscription_ids: Collection[str]) -> dict[str, dict[str, Route]]:
        """Return the routes of those of these that are enabled and can be read, with secrets masked.

        For what words messages and sends none: Spark's executors have no key.
        """
        return {one.id: self._routes_of(one, None) for one in self._subscriptions.list_enabled(subscription_ids)}

    def is_open(self, destination_key: tuple[str, str]) -> bool:
        """Return whether a destination, by the ids of its alert and its own, may send now."""
        subscription_id, destination_id = destination_key
        subscription, waits_because = self._find_subscription(subscription_id)
        if subscription is None or waits_because is not None:
            return False
        return any(
            destination.id == destination_id and _why_closed(subscription, destination) is None
            for destination in subscription.destinations
        )

    def _routes_of(self, subscription: EventSubscription, waits_because: str | None) -> dict[str, Route]:
        template, problem = self._template_of(subscription)
        return {
            destination.id: Route(
                destination=destination,
                retries=subscription.retries,
                batch_size=subscription.batch_size,
                sends_arrays=destination.sends_arrays,
                sends_types_apart=destination.sends_types_apart,
                closed_because=_why_closed(subscription, destination),
                waits_because=waits_because,
                template=template,
                template_problem=problem,
                severity=subscription.severity,
                runbook=subscription.runbook,
                zone=subscription.trigger.timezone or "UTC",
                rank=rank_of(subscription),
                share=_share(subscription),
                payer=RenderingAccount(subscription.id, subscription.creator_id or None),
                reaches_recipient=self._reaches_recipient(subscription, destination),
            )
            for destination in subscription.destinations
        }

    def _reaches_recipient(self, subscription: EventSubscription, destination: Destination) -> bool:
        """Return whether what is sent to a person reaches that person: a bot may be of anybody's workspace."""
        token = destination.config.bot_token
        if token is None or subscription.is_of_administrators:
            return True
        return bool(self._subscriptions.administrator_alerts_of_bot(bot_key_of(token)))

    def system_templates(self) -> dict[str, Template]:
        """Return the system templates that a person has changed, by name."""
        return self._templates.changed_system()

    def _template_of(self, subscription: EventSubscription) -> tuple[Template | None, str]:
        """Return the template of an alert; without one that is there, what is wrong, if an alert names one."""
        reference = subscription.notification_template
        if reference is None:
            return None, ""
        template = self._templates.find(reference.id)
        return template, "" if template else f"template {reference.name or reference.id} no longer exists"

    def _find_subscription(self, subscription_id: str) -> tuple[EventSubscription | None, str | None]:
        try:
            return self._subscriptions.with_secrets(subscription_id), None
        except (StaleSecrets, WrongKey) as unreadable:
            return self._subscriptions.find(subscription_id), unreadable.message


class _Templates:
    """The notification templates of one store, as workers read them: that of an alert, and the changed system ones."""

    def __init__(self, engine: Engine, steady: Steady = steady_s) -> None:
        self._engine, self._steady = engine, steady
        self._system: tuple[float, dict[str, Template]] | None = None

    def find(self, template_id: str) -> Template | None:
        """Return a template by its id; None if it is gone."""
        query = select(entity.c.document).where(entity.c.id == template_id, entity.c.deleted.is_(False))
        text = fetch_value(self._engine, query)
        return None if text is None else _template(json.loads(text))

    def changed_system(self) -> dict[str, Template]:
        """Return the system templates that a person has changed, by name."""
        now_s = self._steady()
        if self._system is None or now_s - self._system[0] > SYSTEM_AGE_S:
            self._system = (now_s, self._read_system())
        return self._system[1]

    def _read_system(self) -> dict[str, Template]:
        query = select(entity.c.document).where(
            entity.c.entity_type == NOTIFICATION_TEMPLATE, entity.c.deleted.is_(False)
        )
        documents = [json.loads(text) for text in fetch_values(self._engine, query)]
        return {
            document["name"]: _template(document)
            for document in documents
            if document.get("provider") == SYSTEM and document.get("isModifiedFromDefault")
        }


def _template(document: dict[str, str]) -> Template:
    return Template(document["name"], document["templateSubject"], document["templateBody"])


def _share(subscription: EventSubscription) -> Share:
    by_asset = subscription.trigger.group_by in (GroupBy.ASSET, GroupBy.LINEAGE_ROOT)
    return Share(subscription.batch_size, by_asset, subscription.is_of_administrators)


def _why_closed(subscription: EventSubscription, destination: Destination) -> str | None:
    if not subscription.enabled:
        return "the alert is disabled"
    if not destination.enabled:
        return "the destination is disabled"
    return None

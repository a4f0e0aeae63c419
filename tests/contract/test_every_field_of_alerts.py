"""Table of every field of the schemas of alerts: the test that shows what it does, or the request that is refused.

Of a field that the server writes, what a request says is ignored, as of every entity: whoever reads and sends back an
alert must not be refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import standards
from tests.contract.test_subscriptions import HOOK, alert
from tests.serving import Json

TESTS = Path(__file__).parents[1]
SCHEMAS = (
    "events/eventSubscription.json",
    "events/api/createEventSubscription.json",
    "entity/events/webhook.json",
    "events/emailAlertConfig.json",
    "events/eventFilterRule.json",
    *(f"entity/events/authentication/webhook{one}.json" for one in ("NoAuth", "BearerAuth", "OAuth2Config")),
)
OURS = frozenset({"version", "updatedAt", "updatedBy", "href", "changeDescription", "incrementalChangeDescription"})
"""What the server writes, beside ids and status."""


@dataclass(frozen=True)
class Refused:
    """A request with the field in it, and the place that the answer names."""

    request: Json
    place: str


def webhook(**config: Any) -> Json:
    return alert(destinations=[{**HOOK, "config": {"endpoint": "https://x.example.org/hook", **config}}])


def mail(category: str = "Owners", **fields: Any) -> Json:
    return alert(destinations=[{"category": category, "type": "Email", **fields}])


def rule(**fields: Any) -> Json:
    rules = [{"name": "r", "effect": "include", "condition": "isBot()", **fields}]
    return alert(filteringRules={"resources": ["table"], "rules": rules})


PAGE = "acceptance/test_alerts_page.py"
CHANNEL = (
    "acceptance/worker/test_webhook_channel.py::test_what_the_destination_adds_is_sent_and_what_is_ours_stays_ours"
)
AUTH = "acceptance/worker/test_webhook_authentication.py"
FILTERS = "unit/alerts/test_filters.py"
RULES = "unit/flow/match/test_plan.py"
ATTEMPTS = "unit/flow/track/test_attempts.py"
NAMED = "unit/alerts/test_named_filters.py"
WAYS = "unit/flow/resolve/test_recipient_rules.py::test_flags_add_to_the_category_and_never_double_it"
UNUSED = "contract/test_subscriptions.py::test_what_has_no_effect_is_kept_and_remarked_upon"
FIELDS: dict[str, str | Refused] = {
    # events/eventSubscription.json, events/api/createEventSubscription.json
    "id": "the server writes it",
    **dict.fromkeys(OURS, "the server writes it"),
    "fullyQualifiedName": "the server writes it",
    "name": f"{PAGE}::test_the_api_operations_answer",
    "displayName": "contract/test_alert_fields.py::test_an_alert_keeps_it_from_creation_on",
    "description": "contract/test_alert_fields.py::test_a_change_of_it_is_an_event",
    "owners": "contract/test_subscriptions.py::test_a_webhook_on_what_somebody_follows_belongs_to_somebody",
    "domains": "contract/test_alert_fields.py::test_an_alert_without_domains_has_those_of_its_owners",
    "className": UNUSED,
    "config": UNUSED,
    "provider": Refused(alert(provider="system"), "provider"),
    "alertType": "unit/alerts/test_alert_types.py::test_an_alert_is_about_what_its_type_offers_and_nothing_else",
    "enabled": f"{PAGE}::test_the_api_operations_answer",
    "batchSize": "acceptance/worker/test_webhook_arrays.py::test_a_batch_size_alone_sends_objects",
    "retries": f"{ATTEMPTS}::test_a_message_is_tried_once_and_as_often_again_as_retries_say",
    "pollInterval": (
        "store/test_pacing.py::test_the_first_goes_out_at_once_and_what_follows_within_the_interval_together"
    ),
    "notificationTemplate": "contract/test_templates.py::test_only_templates_of_users_can_be_assigned",
    "resources": "contract/test_subscriptions.py::test_upstreams_create_form_is_understood",
    "trigger.triggerType": f"{PAGE}::test_scheduled_metric_alert",
    "trigger.scheduleInfo": UNUSED,
    "trigger.cronExpression": f"{PAGE}::test_scheduled_metric_alert",
    "filteringRules.resources": "unit/flow/match/test_local.py::test_resources_gate_the_type_of_entity",
    "input.filters.name": f"{NAMED}::test_an_unknown_filter_is_refused_beside_rules_too",
    **dict.fromkeys(
        (f"input.{one}.{key}" for one in ("filters", "actions") for key in ("effect", "prefixCondition")),
        f"{FILTERS}::test_a_filter_keeps_its_effect_and_its_prefix",
    ),
    "input.actions.name": "contract/test_subscriptions.py::test_upstreams_create_form_is_understood",
    **dict.fromkeys(
        (f"input.{one}.arguments.{key}" for one in ("filters", "actions") for key in ("name", "input")),
        "contract/test_subscriptions.py::test_a_changed_input_is_compiled_anew_and_rules_by_hand_stay",
    ),
    "destinations.id": "contract/test_subscriptions.py::test_an_alert_gets_the_seeds_defaults_and_ids",
    "destinations.statusDetails": "the server writes it",
    "destinations.category": "unit/flow/resolve/test_recipient_rules.py::test_a_relation_needs_no_receiver",
    "destinations.type": f"{PAGE}::test_every_channel_of_the_page_delivers",
    "destinations.enabled": "unit/flow/resolve/test_recipient_rules.py::test_a_disabled_destination_asks_for_nobody",
    "destinations.timeout": UNUSED,
    "destinations.readTimeout": UNUSED,
    "destinations.notifyDownstream": f"{PAGE}::test_owners_and_followers_downstream_are_notified",
    "destinations.downstreamDepth": UNUSED,
    # events/eventFilterRule.json
    "rule.name": f"{RULES}::test_a_wrong_condition_names_its_rule_and_place",
    "rule.displayName": f"{FILTERS}::test_a_filter_keeps_its_effect_and_its_prefix",
    "rule.description": f"{FILTERS}::test_a_filter_keeps_its_effect_and_its_prefix",
    "rule.fullyQualifiedName": Refused(rule(fullyQualifiedName="else"), "rules[0].fullyQualifiedName"),
    "rule.effect": f"{RULES}::test_a_rule_that_excludes_is_negated",
    "rule.condition": f"{RULES}::test_rules_chain_by_their_prefix_and_and_binds_tighter",
    "rule.prefixCondition": f"{RULES}::test_rules_chain_by_their_prefix_and_and_binds_tighter",
    "rule.arguments": Refused(rule(arguments=["fqnList"]), "rules[0].arguments"),
    "rule.inputType": Refused(rule(inputType="runtime"), "rules[0].inputType"),
    # entity/events/webhook.json, events/emailAlertConfig.json
    "config.receivers": "unit/flow/resolve/test_recipient_rules.py::test_a_receiver_with_an_at_is_an_address_*",
    **dict.fromkeys(("config.sendToAdmins", "config.sendToOwners", "config.sendToFollowers"), WAYS),
    "config.endpoint": f"{PAGE}::test_every_channel_of_the_page_delivers",
    **dict.fromkeys(("config.headers", "config.queryParams", "config.httpMethod"), CHANNEL),
    # entity/events/authentication
    "config.authType.type": f"{AUTH}::test_a_bearer_secret_signs_and_is_not_sent",
    "config.authType.secretKey": f"{AUTH}::test_a_bearer_secret_signs_and_is_not_sent",
    **dict.fromkeys(
        (f"config.authType.{key}" for key in ("tokenUrl", "clientId", "clientSecret", "scope")),
        f"{AUTH}::test_a_token_is_fetched_once_and_kept_until_it_expires",
    ),
}
"""Every field by its path, with the test of what it does; of rules and configurations without where they are."""

REFUSED: dict[str, Refused] = {
    **{path: found for path, found in FIELDS.items() if isinstance(found, Refused)},
    "people of a webhook": Refused(webhook(receivers=["admin"]), "destinations[0].config.receivers"),
    "owners of a webhook": Refused(webhook(sendToOwners=True), "destinations[0].config.sendToOwners"),
    "endpoint of a mail": Refused(mail(config={"endpoint": "https://x.y"}), "destinations[0].config.endpoint"),
    "headers of a mail": Refused(mail(config={"headers": {"a": "b"}}), "destinations[0].config.headers"),
    "secret of a mail": Refused(mail(config={"secretKey": "x"}), "destinations[0].config.secretKey"),
    "method of a mail": Refused(mail(config={"httpMethod": "PUT"}), "destinations[0].config.httpMethod"),
    "endless timeout": Refused(alert(destinations=[{**HOOK, "timeout": 31}]), "destinations[0].timeout"),
    "endless answer": Refused(alert(destinations=[{**HOOK, "readTimeout": 0}]), "destinations[0].readTimeout"),
    "a team as a user": Refused(mail("Users", config={"receivers": ["Organization"]}), "config.receivers[0]"),
    "a user as a team": Refused(mail("Teams", config={"receivers": ["admin"]}), "config.receivers[0]"),
    "a name outside": Refused(
        mail("External", config={"receivers": ["a@example.org", "admin"]}), "config.receivers[1]"
    ),
    "an address without an inbox": Refused(
        alert(destinations=[{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["a@example.org"]}}]),
        "config.receivers[0]",
    ),
    "input and other rules": Refused(
        {**rule(), "input": {"filters": [{"name": "filterByUpdaterIsBot", "effect": "exclude"}]}}, "input"
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_do_nothing_is_refused_with_its_place(administrator: httpx.Client, case: str) -> None:
    answer = administrator.post("/events/subscriptions", json=REFUSED[case].request)
    assert answer.status_code == 400, answer.text
    assert answer.json()["message"].partition(": ")[0].endswith(REFUSED[case].place), answer.text


@pytest.mark.parametrize("path", [path for path, found in FIELDS.items() if isinstance(found, str) and "::" in found])
def test_the_test_that_the_table_names_is_there(path: str) -> None:
    file, _, name = str(FIELDS[path]).partition("::")
    pattern = re.escape(name).replace(r"\*", ".*")
    assert re.search(rf"^(async )?def {pattern}\(", (TESTS / file).read_text(), re.M), FIELDS[path]


def test_what_the_server_writes_may_be_sent_back(administrator: httpx.Client) -> None:
    created = administrator.post("/events/subscriptions", json=alert()).json()
    read = administrator.get(f"/events/subscriptions/{created['id']}", params={"fields": "*"}).json()
    status = administrator.get(f"/events/subscriptions/{created['id']}/status").json()["data"][0]["statusDetails"]
    read["destinations"][0]["statusDetails"] = status
    again = administrator.put("/events/subscriptions", json={**read, "version": 7.0, "updatedBy": "me"})
    assert (again.status_code, again.json()["version"], again.json()["updatedBy"]) == (200, 0.1, "admin")


@standards.needs_standards
def test_the_table_has_every_field_of_the_published_schemas() -> None:
    assert {path for schema in SCHEMAS for path in _paths(schema)} == FIELDS.keys() | _CONTAINERS


_CONTAINERS = frozenset(
    "trigger filteringRules filteringRules.rules filteringRules.actions input input.filters input.actions destinations"
    " destinations.config input.filters.arguments input.actions.arguments config.authType".split()
)
"""What holds other fields."""
_BESIDE = {
    "entity/events/webhook.json": "config.",
    "events/emailAlertConfig.json": "config.",
    "events/eventFilterRule.json": "rule.",
    **{one: "config.authType." for one in SCHEMAS if "authentication" in one},
}


def _paths(schema: str) -> Iterator[str]:
    yield from _within(standards.schema(schema), standards.schema(schema), _BESIDE.get(schema, ""))


def _within(node: Json, schema_document: Json, at: str) -> Iterator[str]:
    for name, inner in node.get("properties", {}).items():
        yield at + name
        reference = str((inner.get("items") or inner).get("$ref", ""))
        subschema = inner.get("items") or inner
        if reference.startswith("#/definitions/") or "eventSubscription.json#/definitions/" in reference:
            whole_of = (
                schema_document if reference.startswith("#") else standards.schema("events/eventSubscription.json")
            )
            yield from _within(whole_of["definitions"][reference.rpartition("/")[2]], whole_of, f"{at}{name}.")
        elif "properties" in subschema:
            yield from _within(subschema, schema_document, f"{at}{name}.")

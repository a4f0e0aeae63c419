"""Tests of the recipient rules derived from categories, flags and receivers."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.flow.resolve.recipient_rules import NO_DEPTH_LIMIT, recipient_rules
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import AlertType, Category, Channel, Destination, DestinationConfig, EventSubscription


def rules_of_category(category: Category, channel: Channel = Channel.EMAIL, **config: Any) -> list[tuple[str, str]]:
    destination = Destination(id="d", category=category, type=channel, config=DestinationConfig(**config))
    return [(row.relation.value, row.receiver) for row in recipient_rules(subscription(destination))]


def subscription(*destinations: Destination) -> EventSubscription:
    return EventSubscription(
        id="s",
        name="s",
        fully_qualified_name="s",
        alert_type=AlertType.NOTIFICATION,
        destinations=destinations,
    )


@pytest.mark.parametrize(
    ("category", "relations"),
    [
        (Category.OWNERS, ["owner", "creator"]),
        (Category.FOLLOWERS, ["follower"]),
        (Category.ADMINS, ["admin"]),
        (Category.ASSIGNEES, ["assignee", "asked"]),
        (Category.MENTIONS, ["mention", "participant"]),
    ],
)
def test_a_relation_needs_no_receiver(category: Category, relations: list[str]) -> None:
    assert rules_of_category(category) == [(relation, "") for relation in relations]


def test_flags_add_to_the_category_and_never_double_it() -> None:
    assert rules_of_category(Category.OWNERS, send_to_owners=True, send_to_followers=True, send_to_admins=True) == [
        ("owner", ""),
        ("creator", ""),
        ("follower", ""),
        ("admin", ""),
    ]


def test_a_receiver_with_an_at_is_an_address_and_anything_else_a_name() -> None:
    assert rules_of_category(Category.TEAMS, receivers=("Sales", "Boss@Example.com")) == [
        ("team", "Sales"),
        ("external", "boss@example.com"),
    ]
    assert rules_of_category(Category.USERS, receivers=("ana",)) == [("user", "ana")]


def test_receivers_beside_another_category_are_written_to_as_well() -> None:
    assert rules_of_category(Category.ADMINS, receivers=("Security@example.com", "Sales")) == [
        ("admin", ""),
        ("external", "security@example.com"),
        ("user", "Sales"),
        ("team", "Sales"),
    ]


def test_external_mail_goes_to_addresses_and_webhooks_to_their_endpoint() -> None:
    assert rules_of_category(Category.EXTERNAL, receivers=("A@example.com", "a@example.com")) == [
        ("external", "a@example.com")
    ]
    endpoint = "http://127.0.0.1:9/hook"
    assert rules_of_category(Category.EXTERNAL, Channel.WEBHOOK, endpoint=endpoint) == [("external", endpoint)]


def test_depth_is_nothing_unless_downstream_is_asked_for() -> None:
    ways = [(False, 3, 0), (True, None, NO_DEPTH_LIMIT), (True, 2, 2)]
    for downstream, depth, expected in ways:
        destination = Destination(
            id="d", category=Category.OWNERS, type=Channel.EMAIL, notify_downstream=downstream, downstream_depth=depth
        )
        depths = {row.relation: row.downstream_depth for row in recipient_rules(subscription(destination))}
        assert depths == {ReasonKind.OWNER: expected, ReasonKind.CREATOR: 0}, (
            "who began a thread has nothing downstream"
        )


def test_a_disabled_destination_asks_for_nobody() -> None:
    off = Destination(id="d", category=Category.OWNERS, type=Channel.EMAIL, enabled=False)
    assert recipient_rules(subscription(off)) == ()
    assert [row.relation for row in recipient_rules(subscription(off, off.model_copy(update={"enabled": True})))] == [
        ReasonKind.OWNER,
        ReasonKind.CREATOR,
    ]


@pytest.mark.parametrize(
    ("channel", "config", "by_address"),
    [
        (Channel.EMAIL, {}, True),
        (Channel.SLACK, {"bot_token": "*********"}, True),
        (Channel.SLACK, {"endpoint": "https://hooks.slack.example/x"}, False),
        (Channel.ACTIVITY_FEED, {}, False),
        (Channel.WEBHOOK, {"endpoint": "https://hooks.example/x"}, False),
    ],
)
def test_people_are_found_by_address_for_mail_and_bots(
    channel: Channel, config: dict[str, Any], by_address: bool
) -> None:
    destination_config = DestinationConfig(send_to_owners=True, **config)
    destination = Destination(id="d", category=Category.ADMINS, type=channel, config=destination_config)
    assert {row.by_address for row in recipient_rules(subscription(destination))} == {by_address}


def test_a_bot_posts_to_its_channel() -> None:
    config = DestinationConfig(bot_token="*********", channel="#alerts")
    destination = Destination(id="d", category=Category.EXTERNAL, type=Channel.SLACK, config=config)
    (row,) = recipient_rules(subscription(destination))
    assert (row.relation, row.receiver) == (ReasonKind.EXTERNAL, "#alerts")

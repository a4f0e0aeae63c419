"""Default policies and roles, based on OpenMetadata's, as documents to create on first start.

They equal OpenMetadata's with two exceptions: rules for everybody cover assets, never roles, policies, bots or other
people's accounts, so that nobody can escalate privileges by becoming an owner; and owners may also add to what they
own. Administrators may change all of them. ``docs/access.md`` has them as a table.
"""

from __future__ import annotations

from tocsin.access.resources import ASSETS, CLAIMABLE, DATA, ORDER, POWERS
from tocsin.access.subject import ORGANIZATION
from tocsin.model.entity import Document

_ASSETS, _CLAIMABLE, _DATA = list(ASSETS), list(CLAIMABLE), list(DATA)
_VIEW = ["ViewAll"]
_WRITE = ["Create", "BulkCreate", "BulkUpdate", "EditAll", "ViewAll"]
_DESCRIBE = ["ViewAll", "EditDescription", "EditTags", "EditGlossaryTerms", "EditTier", "EditCertification"]


def _rule(
    name: str, description: str, effect: str, operations: list[str], *, on: list[str], when: str | None = None
) -> Document:
    rule: Document = {"name": name, "description": description, "effect": effect}
    rule |= {"operations": operations, "resources": on}
    return rule | ({"condition": when} if when else {})


def _allow(name: str, description: str, operations: list[str], *, on: list[str], when: str | None = None) -> Document:
    return _rule(name, description, "allow", operations, on=on, when=when)


def _deny(name: str, description: str, operations: list[str], *, on: list[str], when: str | None = None) -> Document:
    return _rule(name, description, "deny", operations, on=on, when=when)


def _policy(name: str, display_name: str, description: str, *rules: Document) -> Document:
    named = {"name": name, "displayName": display_name, "description": description}
    return {**named, "enabled": True, "provider": "system", "allowDelete": False, "rules": list(rules)}


def _role(name: str, display_name: str, description: str, *policies: str) -> Document:
    named = {"name": name, "displayName": display_name, "description": description}
    return {**named, "provider": "system", "allowDelete": False, "policies": list(policies)}


POLICIES: tuple[Document, ...] = (
    _policy(
        "OrganizationPolicy",
        "Organization Policy",
        "What everybody in the organization may do.",
        _allow("OrganizationPolicy-View-Rule", "Everybody may view everything.", _VIEW, on=["all"]),
        _allow(
            "OrganizationPolicy-Owner-Rule",
            "Owners may do everything with what they own, and add to it.",
            ["Create", "EditAll", "ViewAll", "Delete"],
            on=_ASSETS,
            when="isOwner()",
        ),
        _allow(
            "OrganizationPolicy-NoOwner-Rule",
            "Everybody may name an owner for what has none and holds nothing of others.",
            ["EditOwners"],
            on=_CLAIMABLE,
            when="noOwner()",
        ),
        _allow(
            "OrganizationPolicy-Self-Rule",
            "Everybody may say who they are.",
            ["EditDescription", "EditDisplayName"],
            on=["user"],
            when="isOwner()",
        ),
        _allow(
            "OrganizationPolicy-Team-Rule",
            "Who owns a team may describe it and say who is in it.",
            ["EditDescription", "EditDisplayName", "EditUsers"],
            on=["team"],
            when="isOwner()",
        ),
        _allow("OrganizationPolicy-Alert-Rule", "Everybody may make alerts.", ["Create"], on=["eventsubscription"]),
        _allow(
            "OrganizationPolicy-Alert-Owner-Rule",
            "Who made an alert, or owns it, may do everything with it.",
            ["EditAll", "Delete"],
            on=["eventsubscription"],
            when="isOwner()",
        ),
    ),
    _policy(
        "DataConsumerPolicy",
        "Data Consumer Policy",
        "What everybody may write about assets.",
        _allow("DataConsumerPolicy-EditRule", "Everybody may describe and tag assets.", _DESCRIBE, on=_DATA),
        _allow(
            "DataConsumerPolicy-Order-Rule",
            "Everybody may describe what orders assets.",
            ["ViewAll", "EditDescription"],
            on=list(ORDER),
        ),
    ),
    _policy(
        "DataStewardPolicy",
        "Data Steward Policy",
        "What those may do who keep the catalogue in order.",
        _allow(
            "DataStewardPolicy-EditRule",
            "Stewards may describe, tag and name assets, and say who owns them and what they are made from.",
            [*_DESCRIBE, "EditDisplayName", "EditLineage", "EditOwners"],
            on=_ASSETS,
        ),
    ),
    _policy(
        "TeamOnlyPolicy",
        "Team Only Access Policy",
        "Attached to a team, it keeps what the team owns to those who are in it, and them to what it owns.",
        _deny(
            "TeamOnlyPolicy-Rule",
            "Nobody may do anything with an asset outside the hierarchy of the team.",
            ["All"],
            on=_ASSETS,
            when="!matchTeam()",
        ),
    ),
    _policy(
        "DomainOnlyAccessPolicy",
        "Domain Only Access Policy",
        "Given to somebody, it keeps them to the assets of their own domains.",
        _deny(
            "DomainOnlyAccessPolicy-Deny-Rule",
            "They may do nothing with an asset of another domain.",
            ["All"],
            on=_ASSETS,
            when="!hasDomain()",
        ),
    ),
    _policy(
        "DefaultBotPolicy",
        "Default Bot Policy",
        "What no bot may do.",
        _deny(
            "DefaultBotPolicy-Powers-Rule",
            "A bot cannot make bots, roles or policies.",
            ["Create", "Delete", "EditAll"],
            on=list(POWERS),
        ),
        _deny(
            "DefaultBotPolicy-Grants-Rule",
            "A bot cannot give anybody roles or policies.",
            ["EditRole", "EditPolicy"],
            on=["user", "team"],
        ),
    ),
    _policy(
        "IngestionBotPolicy",
        "Ingestion Bot Policy",
        "What the bots of connectors may do.",
        _allow(
            "IngestionBotPolicy-Asset-Rule",
            "Connectors may do everything with assets.",
            [*_WRITE, "Delete"],
            on=_ASSETS,
        ),
        _allow("IngestionBotPolicy-People-Rule", "Connectors may bring people and teams.", _WRITE, on=["user", "team"]),
        _allow("IngestionBotPolicy-Alert-Rule", "Bots may make alerts.", ["Create"], on=["eventsubscription"]),
        _allow(
            "IngestionBotPolicy-Alert-Owner-Rule",
            "Bots may change the alerts they made.",
            ["EditAll", "Delete"],
            on=["eventsubscription"],
            when="isOwner()",
        ),
        _allow("IngestionBotPolicy-View-Rule", "Connectors may view everything.", _VIEW, on=["all"]),
        _deny(
            "IngestionBotPolicy-DisplayName-Rule",
            "Connectors leave the names that people gave.",
            ["EditDisplayName"],
            on=_ASSETS,
        ),
    ),
    _policy(
        "LineageBotPolicy",
        "Lineage Bot Policy",
        "What bots may do that report what is made from what.",
        _allow("LineageBotPolicy-Rule", "They may write lineage.", ["EditAll", "ViewAll"], on=[*_ASSETS, "lineage"]),
        _allow("LineageBotPolicy-Query-Rule", "They may bring queries.", ["Create"], on=["query"]),
    ),
    _policy(
        "ProfilerBotPolicy",
        "Profiler Bot Policy",
        "What bots may do that look at data.",
        _allow("ProfilerBotPolicy-Rule", "They may write profiles and samples.", ["EditAll", "ViewAll"], on=_ASSETS),
    ),
    _policy(
        "QualityBotPolicy",
        "Quality Bot Policy",
        "What bots may do that test data.",
        _allow("QualityBotPolicy-Rule", "They may report results.", ["EditAll", "ViewAll"], on=_ASSETS),
        _allow(
            "QualityBotPolicy-Test-Rule",
            "They may make tests.",
            ["Create", "CreateTests"],
            on=["testCase", "testSuite"],
        ),
    ),
    _policy(
        "UsageBotPolicy",
        "Usage Bot Policy",
        "What bots may do that report who uses what.",
        _allow("UsageBotPolicy-Rule", "They may write usage.", ["EditAll", "ViewAll"], on=_ASSETS),
        _allow("UsageBotPolicy-Query-Rule", "They may bring queries.", ["Create"], on=["query"]),
    ),
)
"""Every policy of the first start."""

ROLES: tuple[Document, ...] = (
    _role("DataConsumer", "Data Consumer", "Uses data, and says what it means.", "DataConsumerPolicy"),
    _role("DataSteward", "Data Steward", "Keeps the catalogue in order.", "DataStewardPolicy"),
    _role("DefaultBotRole", "Default bot role", "What every bot is kept to.", "DefaultBotPolicy"),
    _role("IngestionBotRole", "Ingestion bot role", "Brings metadata.", "IngestionBotPolicy", "DefaultBotPolicy"),
    _role("LineageBotRole", "Lineage bot role", "Reports lineage.", "LineageBotPolicy", "DefaultBotPolicy"),
    _role("ProfilerBotRole", "Profiler bot role", "Looks at data.", "ProfilerBotPolicy", "DefaultBotPolicy"),
    _role("QualityBotRole", "Quality bot role", "Tests data.", "QualityBotPolicy", "DefaultBotPolicy"),
    _role("UsageBotRole", "Usage bot role", "Reports usage.", "UsageBotPolicy", "DefaultBotPolicy"),
)
"""Every role of the first start; ``policies`` are names."""

BOT_WITHOUT_ROLES = "IngestionBotRole"
"""The role of a bot that was given none."""

ROOT_TEAM: Document = {
    "name": ORGANIZATION,
    "displayName": ORGANIZATION,
    "description": "The team above all teams: whoever is in no other team is in this one.",
    "teamType": ORGANIZATION,
    "isJoinable": False,
    "policies": ["OrganizationPolicy"],
    "defaultRoles": ["DataConsumer"],
}
"""The team above all teams."""

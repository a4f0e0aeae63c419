"""Default policies and roles, based on OpenMetadata's, as documents to create on first start.

They equal OpenMetadata's with two exceptions: rules for everybody cover assets, never roles, policies, bots or other
people's accounts, so that nobody can escalate privileges by becoming an owner; and owners may also add to what they
own. Administrators may change all of them. ``docs/access.md`` has them as a table.
"""

from __future__ import annotations

from functools import partial

from tocsin.access.resources import ASSETS, CLAIMABLE, DATA, ORDER, POWERS
from tocsin.access.subject import ORGANIZATION
from tocsin.model.entity import Document

_ASSETS, _CLAIMABLE, _DATA = list(ASSETS), list(CLAIMABLE), list(DATA)
_VIEW = ["ViewAll"]
_WRITE = ["Create", "BulkCreate", "BulkUpdate", "EditAll", "ViewAll"]
_DESCRIBE = ["ViewAll", "EditDescription", "EditTags", "EditGlossaryTerms", "EditTier", "EditCertification"]


def _rule(
    effect: str, name: str, description: str, operations: list[str], *, on: list[str], when: str | None = None
) -> Document:
    rule: Document = {"name": name, "description": description, "effect": effect}
    rule |= {"operations": operations, "resources": on}
    return rule | ({"condition": when} if when else {})


_allow, _deny = partial(_rule, "allow"), partial(_rule, "deny")


def _policy(name: str, display_name: str, description: str, *rules: Document) -> Document:
    name_fields = {"name": name, "displayName": display_name, "description": description}
    return {**name_fields, "enabled": True, "provider": "system", "allowDelete": False, "rules": list(rules)}


def _role(name: str, display_name: str, description: str, *policies: str) -> Document:
    name_fields = {"name": name, "displayName": display_name, "description": description}
    return {**name_fields, "provider": "system", "allowDelete": False, "policies": list(policies)}


POLICIES: tuple[Document, ...] = (
    _policy(
        "OrganizationPolicy",
        "Organization Policy",
        "Permissions of all users.",
        _allow("OrganizationPolicy-View-Rule", "All users may view everything.", _VIEW, on=["all"]),
        _allow(
            "OrganizationPolicy-Owner-Rule",
            "Owners may edit and delete what they own, and create entities in it.",
            ["Create", "EditAll", "ViewAll", "Delete"],
            on=_ASSETS,
            when="isOwner()",
        ),
        _allow(
            "OrganizationPolicy-NoOwner-Rule",
            "All users may set an owner for assets that have none and contain nothing owned by others.",
            ["EditOwners"],
            on=_CLAIMABLE,
            when="noOwner()",
        ),
        _allow(
            "OrganizationPolicy-Self-Rule",
            "Users may edit their own description and display name.",
            ["EditDescription", "EditDisplayName"],
            on=["user"],
            when="isOwner()",
        ),
        _allow(
            "OrganizationPolicy-Team-Rule",
            "Owners of a team may edit its description, display name and members.",
            ["EditDescription", "EditDisplayName", "EditUsers"],
            on=["team"],
            when="isOwner()",
        ),
        _allow("OrganizationPolicy-Alert-Rule", "All users may create alerts.", ["Create"], on=["eventsubscription"]),
        _allow(
            "OrganizationPolicy-Alert-Owner-Rule",
            "The creator and the owners of an alert may edit and delete it.",
            ["EditAll", "Delete"],
            on=["eventsubscription"],
            when="isOwner()",
        ),
    ),
    _policy(
        "DataConsumerPolicy",
        "Data Consumer Policy",
        "What all users may edit in assets.",
        _allow(
            "DataConsumerPolicy-EditRule", "All users may edit descriptions and tags of assets.", _DESCRIBE, on=_DATA
        ),
        _allow(
            "DataConsumerPolicy-Order-Rule",
            "All users may edit descriptions of domains, glossaries, tags and the like.",
            ["ViewAll", "EditDescription"],
            on=list(ORDER),
        ),
    ),
    _policy(
        "DataStewardPolicy",
        "Data Steward Policy",
        "Permissions of data stewards.",
        _allow(
            "DataStewardPolicy-EditRule",
            "Stewards may edit descriptions, tags, display names, owners and lineage of assets.",
            [*_DESCRIBE, "EditDisplayName", "EditLineage", "EditOwners"],
            on=_ASSETS,
        ),
    ),
    _policy(
        "TeamOnlyPolicy",
        "Team Only Access Policy",
        "Attach it to a team: only members may access the team's assets, and members may access no others.",
        _deny(
            "TeamOnlyPolicy-Rule",
            "Denies all operations on assets outside the team's hierarchy.",
            ["All"],
            on=_ASSETS,
            when="!matchTeam()",
        ),
    ),
    _policy(
        "DomainOnlyAccessPolicy",
        "Domain Only Access Policy",
        "Assign it to restrict users to the assets of their own domains.",
        _deny(
            "DomainOnlyAccessPolicy-Deny-Rule",
            "Denies all operations on assets of other domains.",
            ["All"],
            on=_ASSETS,
            when="!hasDomain()",
        ),
    ),
    _policy(
        "DefaultBotPolicy",
        "Default Bot Policy",
        "Restrictions of all bots.",
        _deny(
            "DefaultBotPolicy-Powers-Rule",
            "Bots may not create, edit or delete bots, roles and policies.",
            ["Create", "Delete", "EditAll"],
            on=list(POWERS),
        ),
        _deny(
            "DefaultBotPolicy-Grants-Rule",
            "Bots may not assign roles or policies.",
            ["EditRole", "EditPolicy"],
            on=["user", "team"],
        ),
    ),
    _policy(
        "IngestionBotPolicy",
        "Ingestion Bot Policy",
        "Permissions of ingestion bots.",
        _allow(
            "IngestionBotPolicy-Asset-Rule",
            "Ingestion bots may create, edit and delete assets.",
            [*_WRITE, "Delete"],
            on=_ASSETS,
        ),
        _allow(
            "IngestionBotPolicy-People-Rule",
            "Ingestion bots may create and edit users and teams.",
            _WRITE,
            on=["user", "team"],
        ),
        _allow("IngestionBotPolicy-Alert-Rule", "Bots may create alerts.", ["Create"], on=["eventsubscription"]),
        _allow(
            "IngestionBotPolicy-Alert-Owner-Rule",
            "Bots may edit and delete the alerts they created.",
            ["EditAll", "Delete"],
            on=["eventsubscription"],
            when="isOwner()",
        ),
        _allow("IngestionBotPolicy-View-Rule", "Ingestion bots may view everything.", _VIEW, on=["all"]),
        _deny(
            "IngestionBotPolicy-DisplayName-Rule",
            "Ingestion bots may not overwrite display names.",
            ["EditDisplayName"],
            on=_ASSETS,
        ),
    ),
    _policy(
        "LineageBotPolicy",
        "Lineage Bot Policy",
        "Permissions of bots that report lineage.",
        _allow(
            "LineageBotPolicy-Rule", "Lineage bots may edit lineage.", ["EditAll", "ViewAll"], on=[*_ASSETS, "lineage"]
        ),
        _allow("LineageBotPolicy-Query-Rule", "Bots may create queries.", ["Create"], on=["query"]),
    ),
    _policy(
        "ProfilerBotPolicy",
        "Profiler Bot Policy",
        "Permissions of bots that profile data.",
        _allow(
            "ProfilerBotPolicy-Rule",
            "Profiler bots may write profiles and sample data.",
            ["EditAll", "ViewAll"],
            on=_ASSETS,
        ),
    ),
    _policy(
        "QualityBotPolicy",
        "Quality Bot Policy",
        "Permissions of bots that test data.",
        _allow("QualityBotPolicy-Rule", "Quality bots may report test results.", ["EditAll", "ViewAll"], on=_ASSETS),
        _allow(
            "QualityBotPolicy-Test-Rule",
            "Quality bots may create tests.",
            ["Create", "CreateTests"],
            on=["testCase", "testSuite"],
        ),
    ),
    _policy(
        "UsageBotPolicy",
        "Usage Bot Policy",
        "Permissions of bots that report usage.",
        _allow("UsageBotPolicy-Rule", "Usage bots may report usage.", ["EditAll", "ViewAll"], on=_ASSETS),
        _allow("UsageBotPolicy-Query-Rule", "Bots may create queries.", ["Create"], on=["query"]),
    ),
)
"""Every policy of the first start."""

ROLES: tuple[Document, ...] = (
    _role("DataConsumer", "Data Consumer", "Uses data and documents it.", "DataConsumerPolicy"),
    _role("DataSteward", "Data Steward", "Maintains the catalogue.", "DataStewardPolicy"),
    _role("DefaultBotRole", "Default bot role", "Restrictions of all bots.", "DefaultBotPolicy"),
    _role("IngestionBotRole", "Ingestion bot role", "Ingests metadata.", "IngestionBotPolicy", "DefaultBotPolicy"),
    _role("LineageBotRole", "Lineage bot role", "Reports lineage.", "LineageBotPolicy", "DefaultBotPolicy"),
    _role("ProfilerBotRole", "Profiler bot role", "Profiles data.", "ProfilerBotPolicy", "DefaultBotPolicy"),
    _role("QualityBotRole", "Quality bot role", "Tests data.", "QualityBotPolicy", "DefaultBotPolicy"),
    _role("UsageBotRole", "Usage bot role", "Reports usage.", "UsageBotPolicy", "DefaultBotPolicy"),
)
"""Every role of the first start; ``policies`` are names."""

BOT_WITHOUT_ROLES = "IngestionBotRole"
"""The role of a bot that was given none."""

ROOT_TEAM: Document = {
    "name": ORGANIZATION,
    "displayName": ORGANIZATION,
    "description": "The root team; users without a team belong to it.",
    "teamType": ORGANIZATION,
    "isJoinable": False,
    "policies": ["OrganizationPolicy"],
    "defaultRoles": ["DataConsumer"],
}
"""The team above all teams."""

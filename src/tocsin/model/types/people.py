"""Entity types of people and access: users, teams, bots, roles and policies.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are its schema's. Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, EntityType, words

ROWS = (
    EntityType(
        "user",
        "users",
        keys=(COMMON - words("owners"))
        | words(
            "allowImpersonation authenticationMechanism defaultPersona email externalId follows inheritedPersonas "
            "inheritedRoles isAdmin isBot isEmailVerified lastActivityTime lastLoginTime owns personaPreferences "
            "personas profile roles scimUserName teams timezone"
        ),
        required=("name", "email"),
        ignored=("botName",),
    ),
    EntityType(
        "team",
        "teams",
        keys=COMMON
        | words(
            "children childrenCount defaultPersona defaultRoles email externalId inheritedRoles isJoinable owns "
            "parents policies profile teamType userCount users"
        ),
        required=("name",),
        defaults={"teamType": "Group"},
        is_renamable=True,
        ignored=("defaultPersona",),
    ),
    EntityType(
        "role",
        "roles",
        keys=(COMMON - words("owners")) | words("allowDelete allowEdit disabled policies provider teams users"),
        required=("name", "policies"),
    ),
    EntityType(
        "policy",
        "policies",
        keys=COMMON | words("allowDelete allowEdit disabled enabled location provider roles rules teams"),
        required=("name", "rules"),
        ignored=("location",),
    ),
    EntityType(
        "bot",
        "bots",
        keys=(COMMON - words("owners")) | words("botUser provider"),
        required=("name", "botUser"),
    ),
)

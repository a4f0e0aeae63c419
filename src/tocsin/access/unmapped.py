"""Denial of what a source brought and nobody has mapped: it is for administrators and the source's own bot.

The policy is attached to the Organization, and holds for bots as well, which inherit nothing else: what a bot may view
may leave for a topic or a queue. Next: ``store/catalogue/access/subjects.py``, which gives it to everybody.
"""

from __future__ import annotations

from tocsin.model.entity import Document

UNMAPPED = "Mirrored.Unmapped"
"""The label of what is for administrators only."""

POLICY_NAME = "UnmappedPolicy"
MIRROR_ROLE = "MirrorBotRole"

CLASSIFICATION: Document = {
    "name": "Mirrored",
    "description": "What a source brought.",
    "provider": "system",
}
TAG: Document = {
    "name": "Unmapped",
    "classification": "Mirrored",
    "description": "Brought by a source and not mapped yet: for administrators only.",
    "provider": "system",
}
POLICY: Document = {
    "name": POLICY_NAME,
    "displayName": "Unmapped",
    "description": "Keeps what a source brought for administrators, until it is mapped.",
    "enabled": True,
    "provider": "system",
    "allowDelete": False,
    "rules": [
        {
            "name": "UnmappedPolicy-Rule",
            "description": "Denies everything on what is not mapped.",
            "effect": "deny",
            "operations": ["All"],
            "resources": ["all"],
            "condition": f"matchAnyTag('{UNMAPPED}') && !hasAnyRole('{MIRROR_ROLE}')",
        }
    ],
}
ROLE: Document = {
    "name": MIRROR_ROLE,
    "displayName": "Mirror bot role",
    "description": "Views what a source brought.",
    "provider": "system",
    "allowDelete": False,
    "policies": ["IngestionBotPolicy", "DefaultBotPolicy"],
}

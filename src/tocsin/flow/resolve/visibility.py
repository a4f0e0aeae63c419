"""May they see it? The one question that every path asks before it shows an asset or tells of one.

For now everybody who is active may see everything, people and bots alike, and whoever is deleted nothing. Policies
come later, and only here. Next: ``flow/schedule``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.people import Actor, Person


def may_view(viewer: Actor | Person, document: Document) -> bool:
    """Say whether ``viewer`` may see the entity in ``document``."""
    del document  # every asset is open to everybody who is active
    return not (isinstance(viewer, Person) and viewer.deleted)

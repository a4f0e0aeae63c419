"""Entity tags for conditional requests, in the forms that both generations of clients send.

Source: ``design/openmetadata-client.md`` section 5: 1.13 sends a strong tag, 2.0 the weak form.
"""

from __future__ import annotations

import hashlib

from tocsin.model.entity import Document


def strong_tag(document: Document) -> str:
    """Return the strong entity tag of a document, quotation marks included."""
    text = f"{document['version']}-{document['updatedAt']}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'


def weak_tag(document: Document) -> str:
    """Return the weak entity tag of a document: its version."""
    return f'W/"{document["version"]}"'


def holds(if_match: str, document: Document) -> bool:
    """Return whether an ``If-Match`` header (``*``, one tag or a list of them) names this state."""
    wanted = {tag.strip() for tag in if_match.split(",")}
    return "*" in wanted or bool(wanted & {strong_tag(document), weak_tag(document)})

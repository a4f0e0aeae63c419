"""Examples of the main bodies and answers, by the name of their schema; a test validates each."""

from __future__ import annotations

from tocsin.model.entity import Document


def examples() -> dict[str, Document | list[Document]]:
    """Return every example."""
    return {}

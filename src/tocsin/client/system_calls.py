"""Request builder for the health of an installation.

``Client`` and ``AsyncClient`` offer it like those of ``client/calls.py``.
"""

from __future__ import annotations

from tocsin.client.call import ApiCall
from tocsin.model.entity import Document


def health() -> ApiCall[Document]:
    """Return ``status`` (``ok``, ``degraded``, ``eventsLost``), ``problems``, and how far the pipeline is."""
    return ApiCall("GET", "healthcheck", lambda answer: answer)

"""Public API of the Python SDK: ``Client``, ``AsyncClient``, the types they return. Next: ``client/operations.py``."""

from tocsin.client.answers import Change, Entity, LogSlice, LogText, Notice
from tocsin.client.operations import AsyncClient, Client

__all__ = ["AsyncClient", "Change", "Client", "Entity", "LogSlice", "LogText", "Notice"]

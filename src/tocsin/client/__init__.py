"""Public API of the Python SDK: ``Client``, ``AsyncClient`` and the types they return. Next: ``client/blocking.py``."""

from tocsin.client.answers import Change, Entity, LogSlice, Notice
from tocsin.client.awaiting import AsyncClient
from tocsin.client.blocking import Client

__all__ = ["AsyncClient", "Change", "Client", "Entity", "LogSlice", "Notice"]

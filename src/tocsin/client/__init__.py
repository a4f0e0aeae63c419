"""Public API of the Python SDK: ``Client``, ``AsyncClient``, the types they return. Next: ``client/operations.py``."""

from tocsin.client.answers import Change, Entity, LogSlice, LogText, Notice
from tocsin.client.consume.api_source import ApiSource
from tocsin.client.consume.kafka_source import KafkaSource
from tocsin.client.consume.queue_source import QueueSource
from tocsin.client.consume.steps import EventBatch
from tocsin.client.operations import AsyncClient, Client

__all__ = [
    "ApiSource",
    "AsyncClient",
    "Change",
    "Client",
    "Entity",
    "EventBatch",
    "KafkaSource",
    "LogSlice",
    "LogText",
    "Notice",
    "QueueSource",
]

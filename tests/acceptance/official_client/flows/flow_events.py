"""Flow of change events as the client reads them: the answer to a follower, and the list of events."""

from __future__ import annotations

import json
from typing import Any

from metadata.generated.schema.type.changeEvent import ChangeEvent
from speaking import create_everything


def run(metadata: Any) -> object:
    """Return the types of the events that were read, each once; fails on a key that the client does not know."""
    entities = create_everything(metadata)
    table, olga = (str(entities[name].id.root) for name in ("Table customers", "User olga"))
    api = metadata.client
    followed = api.put(f"/tables/{table}/followers", data=json.dumps(olga))
    api.patch(f"/tables/{table}", data=json.dumps([{"op": "add", "path": "/description", "value": "All of them."}]))
    api.delete(f"/tables/{table}", {"hardDelete": "false"})
    listed = api.get("/events", {"userName": "connector", "limit": 10_000})["data"]
    events = [ChangeEvent.model_validate(one) for one in (followed, *listed)]
    return sorted({event.eventType.value for event in events})

"""Tests of consumers against a real server: rights, queues, and a consumer that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_queue import TYPED, add_classification, create_alert, events
from tests.notifying import notify_all
from tests.serving import Served

from tocsin.client import ApiSource, Client, EventBatch, QueueSource
from tocsin.errors import Conflict


def token_of(client: httpx.Client) -> str:
    return str(client.headers["Authorization"]).removeprefix("Bearer ")


def names(batches: list[EventBatch]) -> list[tuple[str | None, list[str]]]:
    return [(batch.entity_type, [change.entity_name for change in batch.changes]) for batch in batches]


def test_what_the_caller_may_not_view_is_in_no_batch(
    served: Served, administrator: httpx.Client, tmp_path: Path
) -> None:
    user_id, ana = served.person("ana")
    start = administrator.get("/events", params={"offset": "latest"}).json()["paging"]["offset"]
    events(administrator, "Open")
    add_classification(administrator, "Hidden")
    events(administrator, "Last")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["classification"]})
    batches: list[EventBatch] = []
    with ana, Client(served.url, token_of(ana)) as client:
        source = ApiSource(
            tmp_path / "p.json", start=start, entity_types=["domain", "classification"], stop_at_end=True
        )
        client.consume(batches.append, source, group_by="entityType")
    assert names(batches) == [("domain", ["Open", "Last"])]


def test_a_beginning_beyond_the_end_of_the_log_is_refused_and_not_stored(
    served: Served, administrator: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    with Client(served.url, token_of(administrator)) as client:
        with pytest.raises(Conflict, match="ends at offset"):
            client.consume(print, ApiSource(path, start=2**40, stop_at_end=True))
        assert not path.exists()
        client.consume(print, ApiSource(path, stop_at_end=True))
    assert path.exists()


def test_a_queue_is_consumed_by_type_and_what_fails_comes_back(
    served: Served, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    alert = create_alert(administrator, **TYPED)
    events(administrator, "One")
    add_classification(administrator, "Words")
    events(administrator, "Two")
    notify_all(sqlite_engine)
    batches: list[EventBatch] = []

    def handle(batch: EventBatch) -> None:
        if batch.entity_type == "classification" and len(batches) == 1:
            batches.append(batch)
            raise ValueError("away")
        batches.append(batch)

    source = QueueSource(alert["id"], stop_at_end=True)
    with Client(served.url, token_of(administrator)) as client:
        with pytest.raises(ValueError, match="away"):
            client.consume(handle, source, group_by="entityType", retries=0)
        client.consume(handle, source, group_by="entityType")
        assert client.claim_events(alert["id"], limit=9)["data"] == []
    assert names(batches) == [
        ("domain", ["One", "Two"]),
        ("classification", ["Words"]),
        ("classification", ["Words"]),
    ]
    ids = {one["id"] for one in administrator.get("/events", params={"entityTypes": "domain"}).json()["data"]}
    assert {change.idempotency_key for change in batches[0].changes} == ids


def test_a_killed_consumer_gets_again_what_it_had_not_committed(
    served: Served, administrator: httpx.Client, tmp_path: Path
) -> None:
    start = administrator.get("/events", params={"offset": "latest"}).json()["paging"]["offset"]
    domain_names = [f"Domain{number}" for number in range(12)]
    events(administrator, *domain_names)
    program = tmp_path / "handle.py"
    program.write_text(
        "import json, os, signal, sys\n"
        "names = [one['entityFullyQualifiedName'] for one in json.load(sys.stdin)]\n"
        "open('names', 'a').write(json.dumps(names) + '\\n')\n"
        "if len(open('names').readlines()) in (2, 4): os.kill(os.getppid(), signal.SIGKILL)\n"
    )
    options = ["--position", f"{tmp_path}/p.json", "--from", str(start), "--batch-size", "5", "--once"]
    options += ["--entity-types", "domain", "--exec", f"{sys.executable} {program}"]
    environment = {**os.environ, "TOCSIN_SERVER": served.url, "TOCSIN_TOKEN": token_of(administrator)}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    words = [sys.executable, "-m", "tocsin", "events", "consume", *options]
    codes = [subprocess.run(words, cwd=tmp_path, env=environment, check=False).returncode for _ in range(3)]
    assert codes == [-9, -9, 0]
    handled_names = [name for line in (tmp_path / "names").read_text().splitlines() for name in json.loads(line)]
    assert Counter(handled_names).keys() == set(domain_names)
    assert [name for number, name in enumerate(handled_names) if name not in handled_names[:number]] == domain_names

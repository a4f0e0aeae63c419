"""Tests of the two programs of the followers document, as printed there.

The text is copied from seeds/000, "Programmatic Usage"; where the seeds are next to this repository, the copy is
compared with them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.small_server import SmallServer

PRINTED = Path(__file__).with_name("followers_programs.txt").read_text(encoding="utf-8")
SEEDS = Path(__file__).parents[4] / "shared" / "seeds"


def programs(text: str) -> list[str]:
    usage = text.partition("## Programmatic Usage")[2]
    return re.findall(r"```python\n(.*?)```", usage, flags=re.DOTALL)


@pytest.fixture
def names(small_server: SmallServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setenv("TOCSIN_SERVER", small_server.url)
    monkeypatch.setenv("TOCSIN_TOKEN", "a-token")
    # The second program takes these two names for granted.
    return {"datetime": datetime, "timedelta": timedelta}


def test_all_matching_tables_are_followed(small_server: SmallServer, names: dict[str, object]) -> None:
    small_server.answer(
        "GET", "/api/v1/tables", {"data": [{"id": "t1"}], "paging": {"after": "c"}}, {"data": [{"id": "t2"}]}
    )
    for table in ("t1", "t2"):
        small_server.answer("PUT", f"/api/v1/tables/{table}/followers/my-user-uuid", {"eventType": "entityUpdated"})
    exec(programs(PRINTED)[0], names)
    first, second, *follows = (
        small_server.requests[0],
        small_server.requests[2],
        small_server.requests[1],
        small_server.requests[3],
    )
    assert first.query == {"limit": "100", "database": "postgres_prod", "tags": "PII.Sensitive"}
    assert second.query["after"] == "c"
    assert [asked.path for asked in follows] == [
        f"/api/v1/tables/{table}/followers/my-user-uuid" for table in ("t1", "t2")
    ]
    assert all(asked.headers["Authorization"] == "Bearer a-token" for asked in small_server.requests)


def test_the_last_days_changes_are_printed(
    small_server: SmallServer, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    update_event = {
        "eventType": "entityUpdated",
        "entityFullyQualifiedName": "postgres_prod.ecommerce.public.orders",
        "timestamp": 1714564800000,
        "changeDescription": {"fieldsUpdated": [{"name": "description"}]},
    }
    failure_event = {"eventType": "testCaseFailure", "entityFullyQualifiedName": "a.b.c.d.not_null", "timestamp": 1}
    small_server.answer("GET", "/api/v1/tables", {"data": []})
    small_server.answer(
        "GET",
        "/api/v1/users/my-user-uuid/activity",
        {"data": [{"event": update_event, "title": "x"}, {"event": failure_event}]},
    )
    first, second = programs(PRINTED)
    exec(first, names)
    exec(second, names)
    assert capsys.readouterr().out.splitlines() == [
        "postgres_prod.ecommerce.public.orders: description changed",
        "a.b.c.d.not_null: test failed",
    ]
    query = small_server.requests[-1].query
    assert query["eventType"] == "entityUpdated,testCaseFailure"
    age_s = datetime.now(UTC).timestamp() - int(query["since"]) / 1000
    assert age_s == pytest.approx(86400, abs=60)


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seeds do not lie beside this repository")
def test_the_copy_is_what_the_seed_prints() -> None:
    (seed,) = SEEDS.glob("000_*.txt")
    assert programs(PRINTED) == programs(seed.read_text(encoding="utf-8"))

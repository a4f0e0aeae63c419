"""Tests of labels whose names contain dots, so that their FQNs have quotes: conditions, policies, lists, renames."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.upkeep.fsck.inspection import inspect

TAG, TERM = '"Data.EU"."P.I.I"', '"Sales.EU".Revenue."Q.1"'
NEW_TAG, NEW_TERM = '"Data.UK"."P.I.I"', 'Trade.Revenue."Q.1"'
ORDERS = "/tables/name/warehouse.shop.public.orders"


def label(administrator: httpx.Client, table: Json) -> None:
    """Give a table a tag and a term whose names contain dots."""
    create_entity(administrator, "/classifications", name="Data.EU", description="x")
    create_entity(administrator, "/tags", name="P.I.I", classification='"Data.EU"', description="x")
    create_entity(administrator, "/glossaries", name="Sales.EU", description="x")
    create_entity(administrator, "/glossaryTerms", name="Revenue", glossary='"Sales.EU"', description="x")
    create_entity(
        administrator, "/glossaryTerms", name="Q.1", glossary='"Sales.EU"', parent='"Sales.EU".Revenue', description="x"
    )
    labels = [{"tagFQN": TAG, "source": "Classification"}, {"tagFQN": TERM, "source": "Glossary"}]
    written = send_patch(administrator, f"/tables/{table['id']}", {"op": "add", "path": "/tags", "value": labels})
    assert written.status_code == 200, written.text


@pytest.fixture
def labelled_table(administrator: httpx.Client, orders: Json) -> Json:
    """A table with a tag and a term whose names contain dots."""
    label(administrator, orders)
    return orders


def alert(administrator: httpx.Client, name: str, condition: str) -> Json:
    rules = [{"name": "r", "effect": "include", "condition": condition}]
    return create_entity(
        administrator,
        "/events/subscriptions",
        name=name,
        alertType="Notification",
        filteringRules={"resources": ["table"], "rules": rules},
        destinations=[{"category": "Admins", "type": "ActivityFeed"}],
    )


def condition_of(administrator: httpx.Client, made_alert: Json) -> str:
    read = administrator.get(f"/events/subscriptions/{made_alert['id']}").json()
    return str(read["filteringRules"]["rules"][0]["condition"])


def rename(administrator: httpx.Client) -> None:
    for path, name in (('/classifications/name/"Data.EU"', "Data.UK"), ('/glossaries/name/"Sales.EU"', "Trade")):
        answer = send_patch(administrator, path, {"op": "replace", "path": "/name", "value": name})
        assert answer.status_code == 200, answer.text


CONDITIONS = {
    f"matchAnyTag('{TAG}')": f"matchAnyTag('{NEW_TAG}')",
    f"tags.contains('{TERM}')": f"tags.contains('{NEW_TERM}')",
    "tags.startsWith('\"Data.EU\".')": "tags.startsWith('\"Data.UK\".')",
    r"""tags.matches('"Data\.EU"\..*')""": r"""tags.matches('"Data\.UK"\..*')""",
    f"matchAnyChange('tag', 'add', 'asset', '{TAG}')": f"matchAnyChange('tag', 'add', 'asset', '{NEW_TAG}')",
    f"matchAnyChange('glossaryTerm', '*', '*', '{TERM}')": f"matchAnyChange('glossaryTerm', '*', '*', '{NEW_TERM}')",
}


@pytest.mark.parametrize("is_renamed_first", [False, True], ids=["matched at once", "matched after the rename"])
def test_conditions_name_labels_with_their_quotes_and_follow_renames(
    is_renamed_first: bool,
    served: Served,
    administrator: httpx.Client,
    orders: Json,
    sqlite_engine: Engine,
) -> None:
    ann_id, ann = served.person("ann", isAdmin=True)
    alerts = {condition: alert(administrator, f"a{at}", condition) for at, condition in enumerate(CONDITIONS)}
    label(administrator, orders)
    if is_renamed_first:
        rename(administrator)
    notify_all(sqlite_engine)
    with ann:
        inbox = ann.get(f"/users/{ann_id}/notifications").json()["data"]
    notifying_alert_ids = {reason["subscriptionId"] for one in inbox for reason in one["reasons"]}
    assert [condition for condition, made_alert in alerts.items() if made_alert["id"] not in notifying_alert_ids] == []
    if not is_renamed_first:
        rename(administrator)
    assert {old: condition_of(administrator, made_alert) for old, made_alert in alerts.items()} == CONDITIONS


def test_assets_show_the_new_names_and_policies_and_lists_follow(
    administrator: httpx.Client, labelled_table: Json, sqlite_engine: Engine
) -> None:
    rule = {"name": "r", "effect": "deny", "operations": ["EditAll"], "resources": ["table"]}
    rule["condition"] = f"matchAnyTag('{TAG}', '{TERM}')"
    policy = create_entity(administrator, "/policies", name="p", rules=[rule])
    version = administrator.get(ORDERS).json()["version"]
    rename(administrator)
    now = administrator.get(ORDERS, params={"fields": "tags"}).json()
    assert ([label["tagFQN"] for label in now["tags"]], now["version"]) == ([NEW_TAG, NEW_TERM], version)
    read = administrator.get(f"/policies/{policy['id']}").json()
    assert read["rules"][0]["condition"] == f"matchAnyTag('{NEW_TAG}', '{NEW_TERM}')"
    for path in (f"/tags/name/{NEW_TAG}", f"/glossaryTerms/name/{NEW_TERM}"):
        assets = administrator.get(f"{path}/assets").json()["data"]
        assert [one["id"] for one in assets] == [labelled_table["id"]]
    for path in (f"/tags/name/{TAG}", f"/glossaryTerms/name/{TERM}"):
        assert administrator.get(path).status_code == 404
    assert inspect(sqlite_engine, deep=True).findings == []


def test_a_name_gets_and_loses_its_quotes(administrator: httpx.Client, labelled_table: Json) -> None:
    condition = f"matchAnyTag('{TAG}') && tags.startsWith('\"Data.EU\".')"
    made_alert = alert(administrator, "ours", condition)
    for path, name, root in (('"Data.EU"', "Data", "Data"), ("Data", "Data.US", '"Data.US"')):
        answer = send_patch(
            administrator, f"/classifications/name/{path}", {"op": "replace", "path": "/name", "value": name}
        )
        assert answer.status_code == 200, answer.text
        now = administrator.get(ORDERS, params={"fields": "tags"}).json()
        assert now["tags"][0]["tagFQN"] == f'{root}."P.I.I"'
        after = f"""matchAnyTag('{root}."P.I.I"') && tags.startsWith('{root}.')"""
        assert condition_of(administrator, made_alert) == after


def test_a_deletion_for_good_leaves_no_label_with_quotes(
    administrator: httpx.Client, labelled_table: Json, sqlite_engine: Engine
) -> None:
    rule = {"name": "r", "effect": "allow", "operations": ["EditAll"], "resources": ["table"]}
    policy = create_entity(administrator, "/policies", name="p", rules=[rule | {"condition": f"matchAnyTag('{TAG}')"}])
    tag_id = administrator.get(f"/tags/name/{TAG}").json()["id"]
    answer = administrator.delete('/classifications/name/"Data.EU"', params={"hardDelete": True, "recursive": True})
    assert answer.is_success, answer.text
    now = administrator.get(ORDERS, params={"fields": "tags"}).json()
    assert [label["tagFQN"] for label in now["tags"]] == [TERM]
    read = administrator.get(f"/policies/{policy['id']}").json()
    assert read["rules"][0]["condition"] == f"matchAnyTag('{TAG} (removed {tag_id})')"
    assert inspect(sqlite_engine, deep=True).findings == []

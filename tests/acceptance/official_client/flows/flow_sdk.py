"""Flow of the client's newer API, ``metadata.sdk``: entity operations, followers, tags, versions, CSV."""

from __future__ import annotations

import json
import os
from typing import Any

from metadata.generated.schema.api.data.createGlossary import CreateGlossaryRequest
from metadata.generated.schema.entity.data.table import ColumnName
from metadata.sdk import Glossaries, Tables, Users, configure
from metadata.sdk.api.lineage import Lineage
from speaking import create_everything


def run(metadata: Any) -> object:
    """Return the versions of the table, newest first."""
    entities = create_everything(metadata)
    orders, customers, olga = (entities[name].id.root for name in ("Table orders", "Table customers", "User olga"))
    configure(server_url=os.environ["TOCSIN_SERVER"] + "/api", jwt_token=os.environ["TOCSIN_TOKEN"])
    table = Tables.retrieve_by_name("pg.shop.public.customers", fields=["tags", "owners"])
    assert str(table.id.root) == str(customers)
    assert [tag.tagFQN.root for tag in Tables.add_tag(customers, "Care.Fragile").tags] == ["Care.Fragile"]
    Tables.update_column_description(customers, ColumnName("email"), "Where to write to them.")
    followed_table = Tables.add_followers(customers, [olga])
    assert [one.name for one in followed_table.followers.root] == ["olga"]
    assert not Tables.remove_followers(customers, [olga]).followers.root
    versions = [json.loads(text)["version"] for text in Tables.get_versions(customers)]
    assert Tables.get_specific_version(customers, "0.1").version.root == 0.1
    Lineage.add_lineage(
        from_entity_id=str(customers), from_entity_type="table", to_entity_id=str(orders), to_entity_type="table"
    )
    assert Lineage.get_entity_lineage("table", str(orders)).upstreamEdges
    assert Users.retrieve_by_name("olga").displayName == "Olga"
    _by_csv()
    return versions


def _by_csv() -> None:
    Glossaries.create(CreateGlossaryRequest(name="Imported", description="From a file."))
    header = Glossaries.export_csv("Imported").execute()
    columns = header.strip().split(",")
    row = ",".join({"name*": "Basket", "description": "What they put things in."}.get(name, "") for name in columns)
    Glossaries.import_csv("Imported").with_data(f"{header.strip()}\n{row}\n").set_dry_run(False).execute()
    assert "Basket" in Glossaries.export_csv("Imported").execute()

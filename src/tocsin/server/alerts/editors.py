"""Editors of an alert as the API shows them: it covers only what all of them may view.

Next: ``flow/resolve/withholding.py``.
"""

from __future__ import annotations

from tocsin.model.alert_editor import AlertEditor
from tocsin.model.entity import Document
from tocsin.model.subscription import EventSubscription
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import FLAG, ID, TEXT, TIME, either, nullable
from tocsin.server.request import Caller

EDITOR: Shape[AlertEditor] = {
    "id": (ID, lambda editor: editor.user_id),
    "type": (either("user"), lambda _: "user"),
    "name": (nullable(TEXT), lambda editor: editor.name),
    "deleted": (FLAG, lambda editor: editor.is_deleted),
    "since": (TIME, lambda editor: editor.since_ms),
}


def editors_json(alert: EventSubscription, caller: Caller) -> Document:
    """Return the editors of an alert; administrators also learn what each may view and what was withheld for them.

    To others these would say what is hidden.
    """
    stores = caller.parts.alert_stores
    editors = [json_of(EDITOR, editor) for editor in stores.editors.of(alert.id)]
    if not caller.actor.is_admin:
        return {"data": editors}
    resources = alert.filtering_rules.resources if alert.filtering_rules else ("all",)
    withheld = stores.match_results.withheld_counts(alert.id)
    for row in editors:
        row["mayView"] = caller.policies.view_extent(row["id"], resources).value
        row["withheld"] = withheld.pop(row["id"], 0)
    return {"data": editors, "withheldForFormer": sum(withheld.values())}

"""Preparation of a replay: people with tokens, rights, custom properties. No step of the script does this.

Next: ``truth/ways.py``.
"""

from __future__ import annotations

from truth.alert_list import MESSAGES, OWN_ALERTS
from truth.calls import Caller, address_of
from truth.history import Json
from truth.script import HIDDEN, READERS, VAULT, Script
from truth.values import is_bot

_PASSWORD = "a long password of {}"  # noqa: S105  of people who live for one replay


def prepare(caller: Caller, script: Script) -> None:
    """Make the people of a script and let those in who make calls; give everybody rights; define properties."""
    _names(caller)
    caller.ask("PUT", "/system/preferences", json={})  # who prefers nothing is told everything at once
    writer = _role(caller, "Writer", [_rule("everything", "allow", ["All"], None)])
    hide = f"matchAnyTag('{HIDDEN}') || (matchAnyTag('{VAULT}') && !isOwner())"
    edit = {**_rule("alerts", "allow", ["All"], None), "resources": ["eventsubscription"]}
    reader = _role(caller, "Reader", [_rule("hide", "deny", ["ViewBasic", "ViewAll"], hide), edit])
    for name in script.people:
        _person(caller, name, reader if name in READERS else writer, makes_calls=name in _callers(script))
    for entity_type, names in script.history.properties.items():
        caller.learn(("type", entity_type))
        kind = {"id": caller.ask("GET", "/metadata/types/name/string")["id"], "type": "type"}
        for name in names:
            property_request = {"name": name, "description": "Of the history.", "propertyType": kind}
            caller.ask("PUT", f"/metadata/types/{caller.ids['type', entity_type]}", json=property_request)


def _names(caller: Caller) -> None:
    caller.learn(("user", "admin"))
    caller.learn(("team", "Organization"))
    for alert in OWN_ALERTS:
        alert_id = caller.ask("GET", f"/events/subscriptions/name/{alert.name}")["id"]
        caller.ids["alert", alert.name] = alert_id
        if alert.name in MESSAGES:
            enable = [{"op": "add", "path": "/enabled", "value": True}]
            caller.ask("PATCH", f"/events/subscriptions/{alert_id}", json=enable)


def _callers(script: Script) -> set[str]:
    return {*script.writers, *READERS}


def _person(caller: Caller, name: str, role: str, *, makes_calls: bool) -> None:
    request: Json = {"name": name, "email": address_of(name), "roles": [role]}
    if is_bot(name):
        request["isBot"] = True
    elif makes_calls:
        request["password"] = _PASSWORD.format(name)
    caller.ids["user", name] = caller.ask("POST", "/users", json=request)["id"]
    if is_bot(name):
        caller.let_bot_in(name)
    elif makes_calls:
        caller.log_in(name, _PASSWORD.format(name))


def _role(caller: Caller, name: str, rules: list[Json]) -> str:
    caller.ask("POST", "/policies", json={"name": f"{name}Policy", "description": "Of a replay.", "rules": rules})
    role = {"name": name, "description": "Of a replay.", "policies": [f"{name}Policy"]}
    return str(caller.ask("POST", "/roles", json=role)["id"])


def _rule(name: str, effect: str, operations: list[str], condition: str | None) -> Json:
    prepare = {"name": name, "effect": effect, "operations": operations, "resources": ["all"]}
    return prepare if condition is None else prepare | {"condition": condition}

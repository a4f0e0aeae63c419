"""Parser of policies: documents to checked rules. Next: ``access/bind.py``.

Source: schemas/entity/policies/accessControl/rule.json.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.access.language import Known, parse_condition
from tocsin.access.nodes import Condition
from tocsin.access.operations import ALL_RESOURCES, includes
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.logic import ALWAYS
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.phrases import hint

MOST_RULES = 500
"""Rules that a policy may have."""

_KEYS = frozenset({"name", "fullyQualifiedName", "description", "effect", "operations", "resources", "condition"})


class RuleEffect(StrEnum):
    """What a rule does with what it is about."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True)
class Rule:
    """One rule; ``resources``, in lower case, empty means all of them. ``document`` is the rule as it was written."""

    name: str
    effect: RuleEffect
    operations: frozenset[Operation]
    resources: frozenset[str]
    condition: Condition
    document: Document = field(compare=False, hash=False)

    def is_about(self, resource: str, operation: Operation) -> bool:
        """Return whether the rule applies to this operation on this type of entity."""
        if self.resources and resource.lower() not in self.resources:
            return False
        return any(includes(granted, operation) for granted in self.operations)


@dataclass(frozen=True)
class Policy:
    """A policy's rules."""

    id: str
    name: str
    rules: tuple[Rule, ...]


def policy_of(document: Document) -> Policy:
    """Return the rules of a stored policy; none if it is disabled."""
    is_off = document.get("enabled") is False or document.get("disabled") is True or document.get("deleted") is True
    rules = () if is_off else tuple(_rule(one) for one in document.get("rules") or ())
    return Policy(document["id"], document["name"], rules)


def checked_rules(document: Document, resources: Collection[str], find_names: Known | None = None) -> list[Document]:
    """Return the rules of a policy that is to be saved, each with its FQN.

    Raises
    ------
    InvalidInput : a rule is malformed, or names an operation, a resource or a function that there is not; says
        which rule, where in its condition, and what is nearest.
    """
    rules = document.get("rules")
    if not isinstance(rules, list) or len(rules) > MOST_RULES:
        raise InvalidInput(f"must be a list of at most {MOST_RULES} rules", field="rules")
    new_rules = [_checked_rule(rule, f"rules[{index}]", resources, find_names) for index, rule in enumerate(rules)]
    names = [rule["name"] for rule in new_rules]
    if len(set(names)) < len(names):
        raise InvalidInput("two rules have the same name", field="rules")
    policy = fqn.quote(str(document.get("name")))
    return [{**rule, "fullyQualifiedName": fqn.child(policy, rule["name"])} for rule in new_rules]


def _rule(document: Document) -> Rule:
    resources = document["resources"]
    text = document.get("condition")
    return Rule(
        name=document["name"],
        effect=RuleEffect(document["effect"]),
        operations=frozenset(_operation(one) for one in document["operations"]),
        resources=frozenset() if any(_is_all(one) for one in resources) else frozenset(map(str.lower, resources)),
        condition=parse_condition(text) if text else ALWAYS,
        document=document,
    )


def _checked_rule(rule: object, place: str, resources: Collection[str], find_names: Known | None) -> Document:
    if not isinstance(rule, dict):
        raise InvalidInput("must be an object", field=place)
    if extra := sorted(rule.keys() - _KEYS):
        raise InvalidInput(f"a rule has no field {extra[0]}", field=f"{place}.{extra[0]}")
    name = rule.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput("a rule needs a name", field=f"{place}.name")
    if rule.get("effect") not in tuple(RuleEffect):
        raise InvalidInput("must be allow or deny", field=f"{place}.effect")
    operations = [*dict.fromkeys(_known_operation(one, place) for one in _texts(rule, "operations", place))]
    resource_names = [
        *dict.fromkeys(_known_resource(one, resources, place) for one in _texts(rule, "resources", place))
    ]
    new_rule = {key: value for key, value in rule.items() if value is not None}
    new_rule |= {"operations": operations, "resources": resource_names}
    if (condition := new_rule.get("condition")) is not None:
        new_rule |= _checked_condition(condition, f"{place}.condition", find_names, name)
    return {key: value for key, value in new_rule.items() if value is not None}


def _checked_condition(condition: object, place: str, find_names: Known | None, rule: str) -> Document:
    if not isinstance(condition, str):
        raise InvalidInput("must be a string", field=place)
    if not condition.strip():
        return {"condition": None}
    try:
        parse_condition(condition, find_names)
    except InvalidCondition as error:
        raise error.of_rule(rule, place) from error
    return {"condition": condition}


def _texts(rule: Document, key: str, place: str) -> list[str]:
    texts = rule.get(key)
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise InvalidInput("must be a list of at least one string", field=f"{place}.{key}")
    return texts


def _operation(name: str) -> Operation:
    return Operation.ALL if name == "*" else Operation(name)


def _known_operation(name: str, place: str) -> str:
    try:
        return _operation(name).value
    except ValueError:
        valid_names = [one.value for one in Operation]
        raise InvalidInput(
            f"unknown operation {name!r}{hint(name, valid_names)}", field=f"{place}.operations"
        ) from None


def _known_resource(name: str, resources: Collection[str], place: str) -> str:
    """Return the name as it was written, whatever its case."""
    if not _is_all(name) and name.lower() not in map(str.lower, resources):
        raise InvalidInput(f"unknown resource {name!r}{hint(name, resources)}", field=f"{place}.resources")
    return name


def _is_all(resource: str) -> bool:
    return resource == "*" or resource.lower() == ALL_RESOURCES

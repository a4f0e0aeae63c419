"""Names in the rules of policies: they follow renames, and grant nothing once what they name is deleted for good.

A name grants where a rule allows more, or denies less, to the entity that has it. It is replaced by a name that
nobody can have. A name that withholds stays: a later entity of the name is denied as well.
Next: ``access/bind.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tocsin.access.language import LOOKED_UP
from tocsin.access.rules import RuleEffect
from tocsin.catalogue.naming.follow import Renaming, by_tocsin, is_another, name_in_conditions
from tocsin.conditions.entity_names import EntityName, Rename, entity_names, with_renamed
from tocsin.conditions.parse import MAX_BYTES, parse
from tocsin.conditions.syntax import (
    Call,
    Comparison,
    LiteralList,
    Negation,
    Position,
    Word,
    Written,
    children,
)
from tocsin.errors import Conflict, InvalidCondition, InvalidInput, TocsinError
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.change import RENAMED, describe
from tocsin.model.entity import Document
from tocsin.model.people import is_removed_name, removed_name
from tocsin.model.stored import Key, Stored

POLICY = "policy"
NAMED_IN_POLICIES = ("team", "role", "tag", "glossaryTerm")
"""Types whose entities a policy can name."""

_MOST_PARSED = 512
"""Conditions whose names are kept; there are seldom as many."""

_UNKNOWN = "00000000-0000-0000-0000-000000000000"
"""Id of what was deleted before names of the deleted were kept."""


def follow_in_policies(record: Record, renaming: Renaming) -> None:
    """Let policies say the new names.

    Raises
    ------
    InvalidInput : a policy has no room for the new name; with the old one it would protect nothing any more
    """
    refusal = InvalidInput(
        f"is too long: the condition of a policy that names it would exceed {MAX_BYTES:,} bytes", field="name"
    )
    for policy in record.transaction.entities_containing(POLICY, renaming.old_root):
        after = _with_conditions(
            policy.document, lambda rule: _rename_or_refuse(rule["condition"], renaming.new_name_of, refusal)
        )
        if after != policy.document:
            by_tocsin(record).change(policy, after, beside=renaming.because)


def remove_from_policies(record: Record, entities: Sequence[Stored], root: Stored) -> None:
    """Let policies grant nothing by the names of entities that are deleted for good: ``root`` and what lies below it.

    They are looked for once, because each name contains that of the root.

    Raises
    ------
    Conflict : a policy has no room for the name that replaces one; the old one would grant to a later entity
    """
    named_entities = [one for one in entities if one.entity_type in NAMED_IN_POLICIES]
    if not named_entities:
        return
    root_text = name_in_conditions(root.entity_type, root.fqn)
    policies = {one.id: one for one in record.transaction.entities_containing(POLICY, root_text)}
    for entity in named_entities if policies else ():
        for policy in _without_grants(record, list(policies.values()), entity):
            policies[policy.id] = policy


def _without_grants(record: Record, policies: Sequence[Stored], entity: Stored) -> Iterator[Stored]:
    """Yield the policies that granted by the name of an entity, as they are written without it."""
    text = name_in_conditions(entity.entity_type, entity.fqn)
    new_name = removed_name(text, entity.id)
    old, new = ({"type": entity.entity_type, "name": name} for name in (text, new_name))
    because = describe(RENAMED, old=old, new=new)

    def rename(name: EntityName) -> str | None:
        is_meant = name.text == text and entity.entity_type in name.types
        return new_name if is_meant and not is_another(record, name, entity) else None

    for policy in (one for one in policies if _may_name(one, text)):
        refusal = Conflict(
            f"policy {policy.fqn} names {text!r} in a condition that has no room to say that it is deleted; take the"
            " name out of the policy first"
        )
        after = _with_names_where_it_grants(policy.document, rename, refusal)
        if after != policy.document:
            by_tocsin(record).change(policy, after, beside=because)
            yield record.transaction.find(POLICY, Key.by_id(policy.id)) or replace(policy, document=after)


def _may_name(policy: Stored, text: str) -> bool:
    """Return whether a condition may have this name: one without quotation marks stands there as it is."""
    conditions = (str(rule.get("condition") or "") for rule in policy.document["rules"])
    return "'" in text or '"' in text or any(text in condition for condition in conditions)


def settle_policies(record: Record) -> None:
    """Let policies of earlier releases grant nothing by the name of what has been deleted for good."""
    for policy in record.transaction.entities_containing(POLICY, "condition"):
        after = as_of_now(record.transaction, policy.document, int(policy.document["updatedAt"]))
        if after != policy.document:
            record.change(policy, after)


def as_of_now(transaction: Transaction, policy: Document, at_ms: int) -> Document:
    """Return a policy of a time, in which what is deleted for good since then has a name that nobody can have.

    Raises
    ------
    InvalidInput : a condition has no room for that name
    """

    def rename(name: EntityName) -> str | None:
        holder = transaction.holder(name.types, name.text, at_ms)
        if holder is None:
            is_lost = LOOKED_UP.issuperset(name.types) and not _has_holder(transaction, name)
            return removed_name(name.text, _UNKNOWN) if is_lost and not is_removed_name(name.text) else None
        is_there = any(transaction.reference(kind, Key.by_id(holder)) for kind in name.types)
        return None if is_there else removed_name(name.text, holder)

    refusal = InvalidInput("a condition names what is deleted for good, and has no room to say so", field="rules")
    return _with_names_where_it_grants(policy, rename, refusal)


def _has_holder(transaction: Transaction, name: EntityName) -> bool:
    return any(transaction.reference(kind, Key.by_name(fqn.quote(name.text))) for kind in name.types)


def _with_names_where_it_grants(policy: Document, rename: Rename, refusal: TocsinError) -> Document:
    """Return a policy with other names where these grant something."""

    def condition(rule: Document) -> str:
        places = _granting_places(rule["condition"], is_allowing=rule.get("effect") == RuleEffect.ALLOW)
        return _rename_or_refuse(rule["condition"], lambda name: rename(name) if name.at in places else None, refusal)

    return _with_conditions(policy, condition)


@lru_cache(_MOST_PARSED)
def _granting_places(text: str, *, is_allowing: bool) -> frozenset[Position]:
    """Return where in a rule's condition names stand that give rights to who or what has them.

    The conditions of a deletion are read for each entity that goes, while other writes wait.
    """
    try:
        tree = parse(text)
    except InvalidCondition:
        return frozenset()
    places, nodes_to_visit = set[Position](), list[tuple[Written, bool]]([(tree, is_allowing)])
    while nodes_to_visit:
        node, is_granting = nodes_to_visit.pop()
        match node:
            case Call(arguments=arguments):
                words = [word for one in arguments for word in (one.words if isinstance(one, LiteralList) else (one,))]
                places |= {word.at for word in words if is_granting}
            case Negation(operand=operand):
                nodes_to_visit.append((operand, not is_granting))
            case Comparison(operator=sign, left=operand, right=Word(value=value)):
                nodes_to_visit.append((operand, is_granting == (value == (sign == "=="))))
            case _:
                nodes_to_visit += [(child, is_granting) for child in children(node)]
    return frozenset(places)


def _with_conditions(policy: Document, condition_of: Callable[[Document], str]) -> Document:
    """Return a policy with other conditions of the rules that have one."""
    rules = [
        rule | {"condition": condition_of(rule)} if isinstance(rule.get("condition"), str) else rule
        for rule in policy["rules"]
    ]
    return policy | {"rules": rules}


def _rename_or_refuse(condition: str, rename: Rename, refusal: TocsinError) -> str:
    """Return a condition with other names, or refuse where it has no room for them."""
    renamed = with_renamed(condition, rename)
    if renamed == condition and any(rename(name) not in (None, name.text) for name in entity_names(condition)):
        raise refusal
    return renamed

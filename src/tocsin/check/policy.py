"""Rules of a check: which proposed changes end it with an error, and what excuses them. Next: ``check/report.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field, ValidationError

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.entity import WireModel
from tocsin.model.validation_errors import describe_validation


class RuleLevel(StrEnum):
    """What a broken rule does: an ``error`` ends the check with its exit code."""

    ERROR = "error"
    WARNING = "warning"


class Excuse(StrEnum):
    """What keeps a rule from being broken."""

    ANNOUNCED = "announced"
    """A change request announces all that breaks readers."""
    ACKNOWLEDGED = "acknowledged"
    """Who runs the check says why it may be, with ``--acknowledge``."""


class CheckRule(WireModel):
    """A rule: it is broken by a change for which the condition ``when`` holds, unless something excuses it.

    With ``only_if_read`` it is about changes of what something reads.
    """

    name: str = Field(min_length=1, max_length=200)
    when: str = Field(min_length=1, max_length=10_000)
    only_if_read: bool = False
    unless: tuple[Excuse, ...] = ()
    level: RuleLevel = RuleLevel.ERROR


class CheckPolicy(WireModel):
    """The rules of a check, in the order in which they are listed."""

    rules: tuple[CheckRule, ...] = Field(min_length=1, max_length=50)


DEFAULT_POLICY = CheckPolicy(
    rules=(
        CheckRule(
            name="Breaking changes of what something reads are announced",
            when="breaking()",
            only_if_read=True,
            unless=(Excuse.ANNOUNCED, Excuse.ACKNOWLEDGED),
        ),
    )
)
"""What holds without a file."""


def parse_policy(value: object) -> CheckPolicy:
    """Return the policy that a file holds.

    Raises
    ------
    InvalidInput : it is none; the message names each place
    """
    if not isinstance(value, dict):
        raise InvalidInput("must be an object with rules", field="rules")
    try:
        policy = CheckPolicy.model_validate(value)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), CheckPolicy)) from error
    for number, rule in enumerate(policy.rules):
        try:
            parse_and_check(rule.when)
        except InvalidCondition as error:
            raise error.of_rule(rule.name, f"rules[{number}].when") from error
    return policy


def broken_rules(
    policy: CheckPolicy, checked: Mapping[str, Any], *, is_read: bool, is_acknowledged: bool
) -> Sequence[CheckRule]:
    """Return the rules that a checked change breaks; ``checked`` is the server's answer about it.

    Its ``conditions`` answer those of the rules, in their order.
    """
    excuses = {Excuse.ANNOUNCED} if checked["isAnnounced"] else set[Excuse]()
    excuses |= {Excuse.ACKNOWLEDGED} if is_acknowledged else set()
    return [
        rule
        for rule, holds in zip(policy.rules, checked["conditions"], strict=True)
        if holds and (is_read or not rule.only_if_read) and excuses.isdisjoint(rule.unless)
    ]

"""Conditions on the recipient, such as ``user.follows(entity)``, separated from conditions on the event.

The event alone cannot answer them. So a condition is split by cases: for each possible set of answers, the remainder
is a condition on the event. The cases that hold for an event are left to check for each person: a set of answers,
encoded as bits of a number. Next: ``flow/match/plan.py``, ``flow/resolve/audience.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tocsin.conditions.nodes import Node, Personal
from tocsin.logic import NEVER, Constant, leaves, replace_leaves

FOLLOWS, OWNS, MEMBER = "follows", "owns", "isMemberOf"

RELATIONS: dict[str, str] = {
    FOLLOWS: "they follow the asset, or what contains it, since before the event",
    OWNS: "they own the asset, by themselves or by a team",
    MEMBER: "they are in the team, or in one below it",
}
"""What can be asked of a person, ``user.follows(entity)``, and when it holds for them."""

MOST_QUESTIONS = 5
"""Different questions in one alert: each doubles the cases."""

ANYBODY = 1
"""The open answers of a condition without questions: the single one."""

EVERYBODY = (1 << (1 << MOST_QUESTIONS)) - 1
"""Every answer to every question."""


@dataclass(frozen=True)
class Case:
    """Condition on the event for a person whose answers are among ``accepted_answers``.

    Bit ``n`` of ``accepted_answers`` represents the answers whose own bits, one per question and in order, are those of
    ``n``.
    """

    accepted_answers: int
    node: Node


def question(relation: str, team: str | None = None) -> str:
    """Return the name of a question: ``follows``, ``isMemberOf:Finance``."""
    return relation if team is None else f"{relation}:{team}"


def team_of(question_text: str) -> str | None:
    """Return the team that a question names, if it is about one."""
    relation, _, team = question_text.partition(":")
    return team if relation == MEMBER else None


def questions_of(node: Node) -> tuple[str, ...]:
    """Return what ``node`` asks of a person, each question once, in an order of their own."""
    return tuple(sorted({leaf.question for leaf in leaves(node) if isinstance(leaf, Personal)}))


def cases_of(node: Node, questions: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases of ``node`` that can hold, those with the same rest as one; ``questions`` are all it may ask."""
    bits_by_node: dict[Node, int] = {}
    for answers in range(2 ** len(questions)):
        true_questions = {one for bit, one in enumerate(questions) if answers >> bit & 1}
        simplified = with_answers(node, true_questions)
        if simplified != NEVER:
            bits_by_node[simplified] = bits_by_node.get(simplified, 0) | 1 << answers
    return tuple(Case(bits, simplified) for simplified, bits in bits_by_node.items())


def with_answers(node: Node, true_questions: Collection[str]) -> Node:
    """Return ``node`` for a person for whom exactly the questions in ``true_questions`` hold."""
    return replace_leaves(
        node, lambda leaf: Constant(leaf.question in true_questions) if isinstance(leaf, Personal) else leaf
    )


def answers_of(questions: Sequence[str], true_questions: Collection[str]) -> int:
    """Return a person's answers as a number: a bit a question, in their order."""
    return sum(1 << bit for bit, one in enumerate(questions) if one in true_questions)


def is_asked(answer_bits: int, answers: int) -> bool:
    """Return whether a person with these answers is among those ``answer_bits`` for."""
    return bool(answer_bits >> answers & 1)

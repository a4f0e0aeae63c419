"""Evaluation of conditions on the recipient, such as ``user.follows(entity)``, against the directory.

Next: ``flow/resolve/candidates.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from tocsin.conditions.relations import FOLLOWS, OWNS, answers_of, is_asked, team_of
from tocsin.flow.resolve.directory import Directory, Member, PersonFact, Principal
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.model.notification import ReasonKind, directness
from tocsin.model.notification_draft import EventHead

ANYWHERE = ""
"""The place of what holds of a person whatever has changed."""

_BY_ASSET = {FOLLOWS: ReasonKind.FOLLOWER, OWNS: ReasonKind.OWNER}


class PersonFacts:
    """who has which fact, to be asked by person."""

    def __init__(self, person_facts: Iterable[PersonFact]) -> None:
        self._by_place: dict[str, dict[str, list[PersonFact]]] = defaultdict(lambda: defaultdict(list))
        for fact in person_facts:
            self._by_place[fact.place][fact.user_id].append(fact)

    def answers(self, questions: Sequence[str], user_id: str, entity_id: str, offset: int) -> int:
        """Return a person's answers about the event of an entity at a log offset."""
        return answers_of(questions, {fact.question for fact in self._facts_then(user_id, entity_id, offset)})

    def first(self, questions: Sequence[str], accepted: int, user_id: str, head: EventHead) -> PersonFact | None:
        """Return the first of these questions that holds of a person, as directly as it does; None where none does.

        What they follow in place of the asset counts only if their answers are not ``accepted`` without it: an owner
        who mutes a schema is still told of their table by an alert for owners and followers.
        """
        facts = [fact for fact in self._facts_then(user_id, head.entity_id, head.offset) if fact.question in questions]
        direct_facts = [fact for fact in facts if fact.through is None]
        if is_asked(accepted, answers_of(questions, {fact.question for fact in direct_facts})):
            facts = direct_facts
        return min(facts, default=None, key=lambda fact: (questions.index(fact.question), directness(fact.through)))

    def anybody(self, accepted: int, questions: Sequence[str], entity_id: str, offset: int) -> bool:
        """Return whether any person's answers are among ``accepted``; for most people no question holds."""
        people = {*self._by_place.get(ANYWHERE, ()), *self._by_place.get(entity_id, ())}
        return is_asked(accepted, 0) or any(
            is_asked(accepted, self.answers(questions, user_id, entity_id, offset)) for user_id in people
        )

    def about(self, entity_id: str) -> Iterator[PersonFact]:
        """Yield the facts that decide about the events of an entity."""
        for place in (ANYWHERE, entity_id):
            for person_facts in self._by_place.get(place, {}).values():
                yield from person_facts

    def _facts_then(self, user_id: str, entity_id: str, offset: int) -> Iterator[PersonFact]:
        for fact in (*self._facts_at(ANYWHERE, user_id), *self._facts_at(entity_id, user_id)):
            if fact.since_offset <= offset <= fact.until_offset:
                yield fact

    def _facts_at(self, place: str, user_id: str) -> Sequence[PersonFact]:
        return self._by_place.get(place, {}).get(user_id, ())


def person_facts_of(
    entity_ids: Collection[str], rules: Sequence[RecipientRule], directory: Directory
) -> Iterator[PersonFact]:
    """Yield the people for whom the questions of ``rules`` hold, for changes of these entities; a fact may repeat."""
    questions = {question for rule in rules for question in rule.questions}
    principals: list[tuple[str, Principal]] = []
    for question, relation in _BY_ASSET.items():
        if question in questions:
            stakeholders = directory.stakeholders(entity_ids, relation)
            principals += [(question, principal) for principal in stakeholders if not principal.is_hidden]
    if teams := {team: question for question in questions if (team := team_of(question)) is not None}:
        principals += [
            (teams[principal.receiver], principal) for principal in directory.principals_named(ReasonKind.TEAM, teams)
        ]
    team_ids = {principal.principal_id for _, principal in principals if principal.principal_type == "team"}
    members_by_team: dict[str, list[Member]] = defaultdict(list)
    for member in directory.members(team_ids) if team_ids else ():
        members_by_team[member.team_id].append(member)
    for question, principal in principals:
        place = principal.node_id or ANYWHERE
        if principal.principal_type != "team":
            since, until = principal.since_offset, principal.until_offset
            person_id, through = principal.principal_id, principal.through
            yield PersonFact(place, person_id, question, since, until, through, principal.follow)
        for member in members_by_team[principal.principal_id]:
            since = max(principal.since_offset, member.since_offset)
            until = min(principal.until_offset, member.until_offset)
            if since <= until:
                yield PersonFact(place, member.user_id, question, since, until)

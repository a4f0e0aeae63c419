"""Recommendations as a person sees them: of the stored reasons those that the reader may know, in words.

Rank, numbers and names come from what remains: a hidden asset, container or team supports nothing.
Next: ``server/routes/people/recommendations.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tocsin.access.decide import Permissions
from tocsin.access.person_visibility import Visibility
from tocsin.logic import ALWAYS
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.recommendation import ABOUT_PEOPLE, Evidence, ReasonToFollow, sentence_of
from tocsin.server.access.permissions import visible_references
from tocsin.server.entities.response import with_address
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, TEXT, TIME, array, either, ref
from tocsin.server.request import Caller

_NAMED_IN_FULL = (ReasonToFollow.CONTAINER, ReasonToFollow.DOMAIN, ReasonToFollow.TAG)


@dataclass(frozen=True)
class Explained:
    """A reason in words, with references to what it names."""

    evidence: Evidence
    text: str
    via: Document | None
    through: Document | None


@dataclass(frozen=True)
class Recommendation:
    """An asset that a person may like to follow, with its reasons, the strongest first, or when it was dismissed."""

    asset: Document
    reasons: Sequence[Explained] = ()
    dismissed_ms: int | None = None


_REASON: Shape[Explained] = {
    "kind": (either(*ReasonToFollow), lambda explained: explained.evidence.kind.value),
    "text": (TEXT, lambda explained: explained.text),
    "followed?": (ref("EntityReference"), lambda explained: explained.via),
    "through?": (ref("EntityReference"), lambda explained: explained.through),
    "people?": (COUNT, lambda explained: explained.evidence.people_count or None),
    "of?": (COUNT, lambda explained: explained.evidence.member_count or None),
}
RECOMMENDED: Shape[Recommendation] = {
    "asset": (ref("EntityReference"), lambda recommendation: recommendation.asset),
    "reasons": (
        array(schema_of(_REASON)),
        lambda recommendation: [json_of(_REASON, one) for one in recommendation.reasons],
    ),
    "dismissedAt?": (TIME, lambda recommendation: recommendation.dismissed_ms),
}
"""An entry of the answer."""


def recommendations_for(user_id: str, caller: Caller) -> tuple[list[Recommendation], int | None]:
    """Return what is recommended to a person and both they and the caller may know, the best first.

    With it, when it was worked out (epoch milliseconds); None if it never was.
    """
    stores = caller.parts.alert_stores
    by_team = {str(one.reference["id"]) for one in stores.team_follows.of_member(user_id)}
    evidence, completed_ms = stores.recommendations.of(user_id, by_team)
    references = _references(user_id, {id_ for one in evidence for id_ in (one.entity_id, *one.named_ids)}, caller)
    knows_people = all(_sees_all_people(one) for one in _permissions(user_id, caller))
    reasons_of: dict[str, list[Evidence]] = defaultdict(list)
    for reason in evidence:
        if references.keys() >= {reason.entity_id, *reason.named_ids} and (
            knows_people or reason.kind not in ABOUT_PEOPLE
        ):
            reasons_of[reason.entity_id].append(reason)
    groups = sorted(reasons_of.values(), key=lambda many: (-sum(one.strength for one in many), many[0].place))
    follower = "you follow" if user_id == caller.actor.id else f"{_name_of(user_id, caller)} follows"
    return [
        Recommendation(references[many[0].entity_id], _explain(many, references, follower)) for many in groups
    ], completed_ms


def dismissals_of(user_id: str, caller: Caller) -> list[Recommendation]:
    """Return what a person has dismissed and both they and the caller may view, the newest first."""
    dismissals = caller.parts.alert_stores.recommendations.list_dismissals(user_id)
    references = _references(user_id, {entity_id for entity_id, _ in dismissals}, caller)
    return [Recommendation(references[one], dismissed_ms=at_ms) for one, at_ms in dismissals if one in references]


def visible_asset(user_id: str, asset_id: str, caller: Caller) -> Document | None:
    """Return a reference to an asset that both the person and the caller may view; None if there is none."""
    return _references(user_id, {asset_id}, caller).get(asset_id)


def recommendation_json(recommendation: Recommendation) -> Document:
    """Return an entry of the answer."""
    return json_of(RECOMMENDED, recommendation)


def _references(user_id: str, ids: Iterable[str], caller: Caller) -> dict[str, Document]:
    """Return references to those of these that are present and that both may view, by id, with addresses."""
    references = caller.parts.alert_stores.recommendations.references(set(ids))
    visible_entities = visible_references(caller, references.values())
    if user_id != caller.actor.id:
        visibility = Visibility(caller.policies.of(user_id), caller.parts.access.standing)
        visible_ids = visibility.sees(visible_entities)
        visible_entities = [one for one in visible_entities if one["id"] in visible_ids]
    return {one["id"]: with_address(one, caller.root) for one in visible_entities}


def _permissions(user_id: str, caller: Caller) -> Iterable[Permissions]:
    yield caller.permissions
    yield caller.policies.of(user_id)


def _sees_all_people(permissions: Permissions) -> bool:
    """Return whether numbers of people tell a person nothing that they could not list."""
    return permissions.views_everything or permissions.scope("user", Operation.VIEW_BASIC) is ALWAYS


def _name_of(user_id: str, caller: Caller) -> str:
    person = caller.parts.people.by_id(user_id)
    return user_id if person is None else person.name


def _explain(reasons: Sequence[Evidence], references: dict[str, Document], follower: str) -> list[Explained]:
    """Return reasons in words, the strongest first."""
    ordered = sorted(reasons, key=lambda one: (-one.strength, one.kind))
    return [_put_in_words(one, references.get(one.via_id), references.get(one.through_id), follower) for one in ordered]


def _put_in_words(evidence: Evidence, via: Document | None, through: Document | None, follower: str) -> Explained:
    key = "fullyQualifiedName" if evidence.kind in _NAMED_IN_FULL else "name"
    name, through_name = via["name"] if via else "", through[key] if through else ""
    return Explained(evidence, sentence_of(evidence, name, through_name, follower), via, through)

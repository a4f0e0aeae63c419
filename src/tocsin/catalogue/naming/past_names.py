"""Names in an alert's conditions as they were before renames, for events that were logged before those.

An event carries the names of its time, an alert those of now (``catalogue/naming/follow.py``).
Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.catalogue.naming.follow import Renaming, name_in_conditions
from tocsin.conditions.entity_names import Comparing, EntityName, with_renamed
from tocsin.model.entity_types import types_below
from tocsin.model.subscription import EventSubscription, FilteringRule, FilteringRules, PastRules

MOST_PAST = 8
"""Past versions of one alert's rules; events from before these are matched by the oldest of them."""

_NOBODYS = "::"
"""Beginning of a text that is nobody's name: no name contains it."""


@dataclass(frozen=True)
class PastRenaming:
    """A rename or move of an entity with all below it, by the event at an offset.

    ``is_reused`` says that another entity has the old name now.
    """

    log_offset: int
    entity_type: str
    old_fqn: str
    new_fqn: str
    is_reused: bool = False

    def before(self, name: EntityName) -> str | None:
        """Return what ``name`` says of events before the rename; None if that is the same."""
        if name.is_recipient:  # who is a member is known by id
            return None
        if name.comparing is not Comparing.EXACT:
            return self._renaming.new_name_of(name)
        if (old := self._exact(name, self.new_fqn, self.old_fqn)) is not None:
            return old
        is_anothers = self.is_reused and self._exact(name, self.old_fqn, self.new_fqn) is not None
        return _NOBODYS + name.text if is_anothers else None

    def may_be_in(self, condition: str) -> bool:
        """Return whether a condition may contain one of the names; never false if it does."""
        roots = (self.new_fqn, self.old_fqn) if self.is_reused else (self.new_fqn,)
        return any(max(re.split(r"\W", one), key=len) in condition for one in roots)

    @property
    def _renaming(self) -> Renaming:
        types = {(one, ""): "" for one in (self.entity_type, *types_below(self.entity_type))}
        return Renaming(types, self.entity_type, self.new_fqn, self.old_fqn)

    def _exact(self, name: EntityName, root: str, new_root: str) -> str | None:
        """Return a name with ``new_root`` in place of the root; None if it names neither the root nor what is below."""
        if self.entity_type in name.types and name.text in (root, name_in_conditions(self.entity_type, root)):
            return new_root if name.text == root else name_in_conditions(self.entity_type, new_root)
        is_below = name.text.startswith(f"{root}.") and not set(types_below(self.entity_type)).isdisjoint(name.types)
        return new_root + name.text.removeprefix(root) if is_below else None


def with_past_names(alert: EventSubscription, renamings: Sequence[PastRenaming]) -> EventSubscription:
    """Return an alert that matches events before renames, given newest first, by the names of those events."""
    rules, past = alert.filtering_rules, list[PastRules]()
    if rules is None or not renamings:
        return alert
    for renaming in renamings:
        if renaming.log_offset <= alert.since_offset or len(past) == MOST_PAST:
            break
        before = _rules_before(rules, renaming)
        if before != rules:
            past.append(PastRules(until_offset=renaming.log_offset, rules=before))
            rules = before
    return alert.model_copy(update={"past_rules": tuple(past)}) if past else alert


def _rules_before(rules: FilteringRules, renaming: PastRenaming) -> FilteringRules:
    parts = {name: tuple(_rule(one, renaming) for one in getattr(rules, name)) for name in ("rules", "actions")}
    return rules.model_copy(update=parts)


def _rule(rule: FilteringRule, renaming: PastRenaming) -> FilteringRule:
    if not renaming.may_be_in(rule.condition):
        return rule
    return rule.model_copy(update={"condition": with_renamed(rule.condition, renaming.before)})

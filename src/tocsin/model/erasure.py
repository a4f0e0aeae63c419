"""Erasure of a person: a pseudonym in the place of what identifies them, in JSON documents and in texts.

The id of the user stays, so that references, counts and ids that are computed from it stay what they were. Log-in names
are ordinary words at times. One that is (``dana``) is replaced where a field names a person, in references and in
mentions, but not in prose; one that is not (``dana.whitlock``) is replaced in prose, too. Names of assets stay.
Next: ``store/upkeep/erasure``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.people import removed_name
from tocsin.model.requested_job import JobState
from tocsin.model.spellings import COMBINING_MARKS, fold, spelling_pattern

Json = Any  # Any: a JSON value

ERASED_NAME: Final = "Erased user"
"""The display name of everybody who was erased."""

_PERSON_KEYS = frozenset(
    "userName updatedBy createdBy deletedBy impersonatedBy from author user owners followers reviewers experts"
    " assignees resolvedBy closedBy reportedBy postedBy".split()
)
"""Fields whose value, or whose list's items, are log-in names."""

_RECEIVERS = "receivers"
_NAMES_OF_ASSETS = frozenset("name fullyQualifiedName entityFullyQualifiedName tagFQN".split())
_PERSONAL = frozenset("displayName email profile description extension images timezone aboutMe".split())
"""Fields of a user that say who they are, besides their names."""

_KINDS = frozenset("id type entityId entityType eventType".split())
"""Fields of objects with their id that say what an object is: a log-in name may be the same word."""

_DERIVED_NAMES = frozenset("owners mentions userName user_name".split())
"""Fields derived from an event, and columns of the lake, that hold log-in names."""

_LAKE_TEXT = "reason"
"""The column of the lake that holds prose."""

_DERIVED_CHANGES, _SEPARATOR = "changes", "\t"
_CATEGORIES_OF_PEOPLE = frozenset("owner reviewer follower membership vote".split())
"""Categories of changes whose last part may be a log-in name (``conditions/changes.py``)."""

_OWN_FQN, _OWN_ID = "entity_fqn", "entity_id"
"""The columns of the lake that say what an event is about."""

_CHANGES = ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
_DISTINCT = re.compile(r"[^\W_]+[._@+-][^\W_]+")
_NOT_IN_LINK = r'(?<!::)(?<!::")(?<!\.")'
"""Not after what begins the name of an asset in a link, ``<#E::table::``, or goes on with a quoted one."""

_OF_PEOPLE = re.compile(r"\b(?:matchAnyOwnerName|matchUpdatedBy|changedBy|matchConversationUser)\s*\([^()]*\)")
"""Calls in conditions whose arguments are log-in names, or names of teams."""

_QUOTED = re.compile(r"""(?<=')[^'"]+(?=')|(?<=")[^'"]+(?=")""")
_CONDITION, _ABOUT = "condition", "about"
_GONE = object()


@dataclass(frozen=True)
class PersonalIdentity:
    """What identifies one person, in all spellings that they ever had.

    Attributes
    ----------
    names : log-in names
    emails : e-mail addresses
    display_names : names as people read them
    shared : those of all these that another user has, too: they are replaced beside the id alone
    """

    user_id: str
    names: frozenset[str]
    emails: frozenset[str]
    display_names: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    @property
    def pseudonym(self) -> str:
        """Return the name that replaces theirs."""
        return f"erased-{self.user_id[-12:]}"

    @property
    def pseudonym_email(self) -> str:
        """Return the address that replaces theirs: nobody's."""
        return f"{self.pseudonym}@erased.invalid"

    @cached_property
    def needles(self) -> tuple[str, ...]:
        """Return texts of which each row to rewrite contains one, in whatever spelling."""
        return tuple(sorted({*self.names, *self.emails, *filter(_is_full_name, self.display_names)}))

    def to_json(self) -> Document:
        """Return it as JSON."""
        return {
            "userId": self.user_id,
            "names": sorted(self.names),
            "emails": sorted(self.emails),
            "displayNames": sorted(self.display_names),
            "shared": sorted(self.shared),
        }

    @classmethod
    def from_json(cls, document: Document) -> PersonalIdentity:
        """Return what ``to_json`` was called on."""
        lists = (frozenset(document[key]) for key in ("names", "emails", "displayNames", "shared"))
        return cls(document["userId"], *lists)


class Pseudonymizer:
    """Replaces what identifies one person."""

    def __init__(self, identity: PersonalIdentity) -> None:
        self._identity = identity
        self._own_names, self._own_emails = _spellings(identity.names), frozenset(map(fold, identity.emails))
        self._names = self._own_names - _spellings(identity.shared)
        self._emails = self._own_emails - frozenset(map(fold, identity.shared))
        self._in_texts = list(self._patterns())

    def name(self, value: str) -> str:
        """Return a name or address, or the pseudonym if it is theirs."""
        return self._replace(value, self._names, self._emails)

    def text(self, value: str) -> str:
        """Return a text without their addresses, full names, mentions, and log-in names that are no ordinary words."""
        for pattern, replacement in self._in_texts:
            value = pattern.sub(replacement, value)
        return value

    def document(self, value: Json) -> Json:
        """Return a JSON value without what identifies them."""
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.document(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def own_name(self, value: str) -> str:
        """Return the name of what has their id, or the pseudonym if it is one of theirs."""
        return self._replace(value, self._own_names, self._own_emails)

    def derived_fields(self, fields: Mapping[str, Json]) -> Document:
        """Return fields that were derived from an event, or a row of the lake, without their names.

        Types, paths, services and tags stay: any of them may be the same word.
        """
        rewritten = {key: self._derived_field(key, value) for key, value in fields.items()}
        if fields.get(_OWN_ID) == self._identity.user_id and fields.get(_OWN_FQN):
            rewritten[_OWN_FQN] = self.own_name(fields[_OWN_FQN])
        return rewritten

    def _derived_field(self, key: str, value: Json) -> Json:
        if key in _DERIVED_NAMES:
            return [self.name(item) for item in value] if isinstance(value, list) else self.name(value or "") or value
        if key == _LAKE_TEXT and value:
            return self.text(value)
        return [self._change(change) for change in value] if key == _DERIVED_CHANGES and value else value

    def _change(self, change: str) -> str:
        """Return a change as one text: its category, operation and target, and what came or went."""
        *place, last = change.split(_SEPARATOR)
        is_of_people = place[:1] and place[0] in _CATEGORIES_OF_PEOPLE
        return _SEPARATOR.join((*place, self.name(last))) if is_of_people else change

    def _replace(self, value: str, names: frozenset[str], emails: frozenset[str]) -> str:
        if fold(value) in names:
            return fqn.quote(self._identity.pseudonym) if value.startswith('"') else self._identity.pseudonym
        return self._identity.pseudonym_email if fold(value) in emails else value

    def _patterns(self) -> Iterator[tuple[re.Pattern[str], str]]:
        """Yield what is looked for in texts, the longest first, and what replaces it."""
        identity = self._identity
        for email in sorted(identity.emails - identity.shared, key=len, reverse=True):
            yield _standalone_pattern(spelling_pattern(email), before=r"\w.+-", after=r"\w-"), identity.pseudonym_email
        full_names = filter(_is_full_name, identity.display_names - identity.shared)
        for display_name in sorted(full_names, key=len, reverse=True):
            words = r"\s+".join(map(spelling_pattern, display_name.split()))
            yield _standalone_pattern(words, before=r"\w", after=r"\w"), ERASED_NAME
        for name in sorted(identity.names - identity.shared, key=len, reverse=True):
            spellings = "|".join(spelling_pattern(spelling) for spelling in {name, fqn.quote(name)})
            yield re.compile(rf"(<#E::user::)(?:{spellings})(?=[>|:])", re.IGNORECASE), rf"\g<1>{identity.pseudonym}"
            yield (
                _standalone_pattern("@" + spelling_pattern(name), before=r"\w.", after=r"\w-"),
                f"@{identity.pseudonym}",
            )
            yield (
                re.compile(
                    rf"(/users/)(?:{spelling_pattern(name)}|{re.escape(quote(name))})(?=[)/?#\s]|$)", re.IGNORECASE
                ),
                rf"\g<1>{identity.pseudonym}",
            )
            old_name = removed_name(name, identity.user_id)
            yield (
                _standalone_pattern(spelling_pattern(old_name), before=r"\w", after=r"\w"),
                removed_name(identity.pseudonym, identity.user_id),
            )
            if _DISTINCT.search(name):
                yield (
                    _standalone_pattern(_NOT_IN_LINK + spelling_pattern(name), before=r"\w.@+-", after=r"\w@-"),
                    identity.pseudonym,
                )

    def _condition(self, condition: str) -> str:
        """Return a condition that names them no more."""

        def without_names(call: re.Match[str]) -> str:
            return _QUOTED.sub(lambda quoted: self.name(quoted[0]), call[0])

        return self.text(_OF_PEOPLE.sub(without_names, condition))

    def _object(self, value: Mapping[str, Json]) -> Document:
        if self._identity.user_id in (value.get("id"), value.get("entityId")):
            return self._own_object(value)
        is_reference = value.get("type") == "user" and self._is_theirs(value.get("name"))
        return {key: self._field(key, field_value, is_reference=is_reference) for key, field_value in value.items()}

    def _field(self, key: str, field_value: Json, *, is_reference: bool) -> Json:
        if key == _RECEIVERS and isinstance(field_value, list):
            return [item for item in map(self.document, field_value) if not self._is_theirs(item)]
        if key == _CONDITION and isinstance(field_value, str):
            return self._condition(field_value)
        if key == _ABOUT and isinstance(field_value, str) and field_value.startswith("user "):
            return f"user {self.name(field_value.removeprefix('user '))}"
        if key in _PERSON_KEYS or (is_reference and key in ("name", "fullyQualifiedName")):
            if isinstance(field_value, str):
                return self.name(field_value)
            if isinstance(field_value, list):
                return [self.name(item) if isinstance(item, str) else self.document(item) for item in field_value]
        if key in _NAMES_OF_ASSETS and isinstance(field_value, str):
            return field_value
        return ERASED_NAME if is_reference and key == "displayName" else self.document(field_value)

    def _own_object(self, value: Mapping[str, Json]) -> Document:
        """Return an object with their id: the user, a reference to them, or an event about them."""
        fields = {key: self._own_field(key, field_value) for key, field_value in value.items()}
        return {key: field_value for key, field_value in fields.items() if field_value is not _GONE}

    def _own_field(self, key: str, field_value: Json) -> Json:
        if key == "changeDescription" and isinstance(field_value, dict):
            return {part: self._own_changes(part, changes) for part, changes in field_value.items()}
        if key == "displayName":
            return ERASED_NAME
        if key == "email":
            return self._identity.pseudonym_email
        if key in _PERSONAL:
            return _GONE
        if key in _KINDS:
            return field_value
        return self.text(self.own_name(field_value)) if isinstance(field_value, str) else self.document(field_value)

    def _own_changes(self, part: str, changes: Json) -> Json:
        """Return changes of the user; a field that goes is not in them any more."""
        if part not in _CHANGES:
            return changes
        rewritten = []
        for change in changes:
            field = str(change.get("name")).partition(".")[0]
            values = {key: self._own_field(field, field_value) for key, field_value in change.items() if key != "name"}
            if _GONE not in values.values():
                rewritten.append({**change, **values})
        return rewritten

    def _is_theirs(self, value: Json) -> bool:
        return isinstance(value, str) and fold(value) in self._names | self._emails | {
            self._identity.pseudonym,
            self._identity.pseudonym_email,
        }


@dataclass(frozen=True)
class Erasure:
    """A requested erasure, with its progress and its certificate.

    Attributes
    ----------
    is_dry : whether it only counts
    identity : what is erased; None once it is done
    done_count, total_count : steps done, and all of them
    tries : how often a pipeline has started it
    result : the certificate, or the counts of a dry run
    reason : why it failed
    """

    id: str
    user_id: str
    requested_by: str
    requested_at_ms: int
    is_dry: bool
    identity: PersonalIdentity | None
    state: JobState = JobState.WAITING
    done_count: int = 0
    total_count: int = 0
    tries: int = 0
    result: Document | None = None
    reason: str | None = None
    ended_at_ms: int | None = None


def _is_full_name(display_name: str) -> bool:
    """Return whether a display name is more than one word, which may be an ordinary one."""
    return len(display_name.split()) > 1


def _spellings(names: Iterable[str]) -> frozenset[str]:
    """Return log-in names as they are, and as they are in FQNs, folded."""
    return frozenset(fold(spelling) for name in names for spelling in (name, fqn.quote(name)))


def _standalone_pattern(expression: str, *, before: str, after: str) -> re.Pattern[str]:
    """Return the pattern of an expression that is no part of a longer name; a full stop may end the sentence."""
    return re.compile(
        rf"(?<![{COMBINING_MARKS}{before}])(?:{expression})(?![{COMBINING_MARKS}{after}]|\.\w)", re.IGNORECASE
    )


def identity_in(user_id: str, versions: Iterable[Document]) -> PersonalIdentity:
    """Return what identifies a user in versions of it, of which some may be written over already."""
    spellings: dict[str, set[str]] = {"name": set(), "email": set(), "displayName": set()}
    for version in versions:
        for key, values in spellings.items():
            if version.get(key):
                values.add(str(version[key]))
    names, emails, display_names = (frozenset(values) for values in spellings.values())
    pseudonyms = PersonalIdentity(user_id, frozenset(), frozenset())
    return PersonalIdentity(
        user_id, names - {pseudonyms.pseudonym}, emails - {pseudonyms.pseudonym_email}, display_names - {ERASED_NAME}
    )

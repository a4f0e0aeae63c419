"""Comparison of a change with what change requests announced of it, when it is written.

It reads the requests that stand at that moment and nothing else; the event keeps the result, so that what happens to a
request afterwards does not alter it. Next: ``flow/capture/write.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tocsin.conditions.breaking import TYPE_KEYS, type_of_column
from tocsin.model import fqn
from tocsin.model.announcement import OF_MEMBERS, Announcement, ChangeOutcome, announcement_of, is_consequence
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeDescription
from tocsin.model.change_request import AnnouncedChange, ChangeKind, StandingRequest
from tocsin.model.columns import column_path_in, columns_at
from tocsin.model.entity import Document
from tocsin.model.list_identity import MEMBER_LISTS
from tocsin.model.status import STANDINGS, says_deprecated


class WrittenChange(NamedTuple):
    """What was written of an asset: its documents (``after`` is None if it was deleted) and why it breaks readers."""

    entity_type: str
    before: Document
    after: Document | None
    reasons: tuple[BreakingReason, ...] = ()


class Judgement(NamedTuple):
    """Why a change breaks readers in the light of what was announced, what was, and the requests that it ends.

    ``announcements`` is None where nothing needed an announcement and nothing was announced.
    """

    reasons: tuple[BreakingReason, ...] = ()
    announcements: tuple[Announcement, ...] | None = None
    ended_requests: tuple[AnnouncedChange, ...] = ()


NOTHING_ANNOUNCED = Judgement()


class _Fate(NamedTuple):
    """What became of something that a request is about, at a path of the document; None: of the asset."""

    field: str | None
    is_as_announced: bool
    is_final: bool


def may_be_announced(change: ChangeDescription) -> bool:
    """Return whether a change is of a kind that requests announce: of columns and their types, a name, or a status."""
    return any(_may_be_announced(path) for path in change.paths())


def _may_be_announced(path: str) -> bool:
    last = path.rpartition(".")[2]
    return last in MEMBER_LISTS or last in TYPE_KEYS or path == "name" or path in STANDINGS


def judgement_of(change: WrittenChange, standing: Iterable[StandingRequest], at_ms: int) -> Judgement:
    """Return what the requests about an asset, or what contained it, that stand at a time mean for a change of it.

    Of several about the same column, or the asset, the newest counts. It ends; so does the newest of the asset itself
    where a newer one is about what contained it. A deprecation whose date has come ends by itself.
    """
    in_order = sorted(standing, key=lambda one: one.request.number)
    newest = {one.request.column_path: one for one in in_order}
    newest_own = {one.request.column_path: one for one in in_order if one.request.entity_id == change.before["id"]}
    announcements = [
        Announcement(
            request=entry.request.name,
            outcome=_outcome(entry, fate, at_ms),
            field=fate.field,
            open_answers=entry.open_count,
            renamed_to=_new_name_of_column(entry.request) if fate.is_as_announced else None,
        )
        for entry in newest.values()
        for fate in _fates(entry.request, change, at_ms)
    ]
    ended_requests: list[AnnouncedChange] = []
    for entry in newest_own.values():
        fates = list(_fates(entry.request, change, at_ms))
        if fates and all(fate.is_final for fate in fates) and not _is_deprecated(entry.request, at_ms):
            outcome = _outcome(entry, fates[0], at_ms)
            ended_requests.append(replace(entry.request, done_at_ms=at_ms, outcome=outcome, updated_at_ms=at_ms))
    if not announcements and not change.reasons:
        return Judgement()
    return Judgement(_judged_reasons(change.reasons, announcements), tuple(announcements), tuple(ended_requests))


def _new_name_of_column(request: AnnouncedChange) -> str | None:
    is_of_column = request.kind is ChangeKind.RENAME and request.column_path is not None
    return request.new_value if is_of_column else None


def _outcome(standing: StandingRequest, fate: _Fate, at_ms: int) -> ChangeOutcome:
    if not fate.is_as_announced:
        return ChangeOutcome.OTHERWISE
    if at_ms < standing.request.due_at_ms:
        return ChangeOutcome.EARLY
    is_despite_objection = standing.is_objected and standing.request.kind is not ChangeKind.DEPRECATION
    return ChangeOutcome.OBJECTED if is_despite_objection else ChangeOutcome.AS_ANNOUNCED


def _is_deprecated(request: AnnouncedChange, at_ms: int) -> bool:
    return request.kind is ChangeKind.DEPRECATION and at_ms >= request.due_at_ms


def _judged_reasons(
    reasons: Sequence[BreakingReason], announcements: Sequence[Announcement]
) -> tuple[BreakingReason, ...]:
    """Return the reasons without those of what happened as announced, and with one for each other announcement."""
    unlike = [one for one in announcements if one.outcome is not ChangeOutcome.AS_ANNOUNCED]
    reasons_left = [reason for reason in reasons if not _is_as_announced(reason, announcements)]
    if not unlike:
        reasons_left = [reason for reason in reasons_left if not is_consequence(reason, reasons, announcements)]
    told_fields = {reason.field for reason in reasons_left if announcement_of(reason, announcements)}
    further_reasons = (
        BreakingReason(kind=BreakingKind.UNLIKE_ANNOUNCED, field=announcement.field, after=announcement.in_words())
        for announcement in unlike
        if announcement.field not in told_fields
    )
    return (*reasons_left, *further_reasons)


def _is_as_announced(reason: BreakingReason, announcements: Sequence[Announcement]) -> bool:
    announcement = announcement_of(reason, announcements)
    return announcement is not None and announcement.outcome is ChangeOutcome.AS_ANNOUNCED


class _Chain(NamedTuple):
    """What requests, one after the other, announced of a column: its path then, None if it was to be removed."""

    requests: tuple[AnnouncedChange, ...]
    path: str | None

    @property
    def deciding_request(self) -> AnnouncedChange:
        """Return the first request that was not carried out as announced, else the last."""
        unlike = (one for one in self.requests if one.outcome not in (None, ChangeOutcome.AS_ANNOUNCED))
        return next(unlike, self.requests[-1])

    @property
    def new_name(self) -> str | None:
        """Return the new name of the column, None where it has none in the place where it was."""
        *above, name = fqn.split(str(self.requests[0].column_path))
        *new_above, new_name = fqn.split(self.path) if self.path else [*above, name]
        return new_name if new_above == above and new_name != name else None


def _chain_of(request: AnnouncedChange, carried_out: Iterable[AnnouncedChange] = ()) -> _Chain:
    """Return a request about a column with those that were carried out after it and are about what it left."""
    chain = _Chain((request,), _path_after(request, str(request.column_path)))
    place = (request.done_at_ms or 0, request.number)
    for later in sorted(carried_out, key=lambda one: (one.done_at_ms or 0, one.number)):
        if chain.path is None or later.column_path is None or (later.done_at_ms or 0, later.number) <= place:
            continue
        path = _path_after(later, chain.path)
        if path != chain.path:
            chain = _Chain((*chain.requests, later), path)
    return chain


def _path_after(request: AnnouncedChange, path: str) -> str | None:
    """Return where a request leaves what is at a path: the column that it is about, or one in that."""
    about, steps = fqn.split(str(request.column_path)), fqn.split(path)
    if steps[: len(about)] != about:
        return path
    if request.kind is ChangeKind.RENAME and request.new_value is not None:
        return fqn.join([*about[:-1], request.new_value, *steps[len(about) :]])
    return None if request.kind is ChangeKind.REMOVAL else path


def _fates(request: AnnouncedChange, change: WrittenChange, at_ms: int, chain: _Chain | None = None) -> Iterator[_Fate]:
    """Yield what became of what a request, or a chain that begins with it, is about; nothing while it is as it was."""
    if request.column_path is None:
        yield from _fate_of_asset(request, change, at_ms)
    elif change.after is not None:
        columns_now = columns_at(change.entity_type, change.after, request.column_path)
        for path, before in columns_at(change.entity_type, change.before, request.column_path).items():
            after = columns_now.get(path)
            if after is None:
                yield _Fate(path, _is_gone_as_announced(chain or _chain_of(request), path, change), is_final=True)
            elif type_of_column(before) != type_of_column(after):
                yield from _fate_of_retyped(request, path, after, change.reasons)


def _fate_of_asset(request: AnnouncedChange, change: WrittenChange, at_ms: int) -> Iterator[_Fate]:
    if change.after is None:
        # what cannot be renamed in place is deleted and made anew
        yield _Fate(None, request.kind in (ChangeKind.REMOVAL, ChangeKind.RENAME), is_final=True)
    elif request.kind is ChangeKind.RENAME and change.after.get("name") != change.before.get("name"):
        yield _Fate(None, change.after.get("name") == request.new_value, is_final=True)
    elif _is_deprecated(request, at_ms):
        for key in sorted(STANDINGS):
            if says_deprecated(change.after.get(key)) and not says_deprecated(change.before.get(key)):
                yield _Fate(key, is_as_announced=True, is_final=False)


def _is_gone_as_announced(chain: _Chain, path: str, change: WrittenChange) -> bool:
    """Return whether a column that is gone was to be removed, or has come back where it was announced."""
    if chain.path is None:
        return True
    names, steps = fqn.split(chain.path), fqn.steps_of(path)
    steps[len(steps) - 2 * len(names) + 1 :: 2] = names
    place = fqn.join(steps)
    came, were = (columns_at(change.entity_type, one or {}, chain.path) for one in (change.after, change.before))
    return place in came and place not in were


def _fate_of_retyped(
    request: AnnouncedChange, path: str, after: Document, reasons: Sequence[BreakingReason]
) -> Iterator[_Fate]:
    """Yield what another type means for a request about a column: about its type, or about one that was narrowed."""
    if request.kind is ChangeKind.TYPE:
        is_as_announced = _type_spelling(request.new_value) in map(_type_spelling, _types_in(after))
        yield _Fate(path, is_as_announced, is_final=is_as_announced)
    elif any(one.kind in OF_MEMBERS and one.field == path for one in reasons):
        yield _Fate(path, is_as_announced=False, is_final=False)


def has_type(column: Document, data_type: str) -> bool:
    """Return whether a column has this type, in full: ``VARCHAR(20)`` is another than ``VARCHAR``."""
    return _type_spelling(data_type) in map(_type_spelling, _full_types_in(column))


def _types_in(column: Document) -> tuple[object, ...]:
    return (*_full_types_in(column), column.get("dataType"))


def _full_types_in(column: Document) -> tuple[object, ...]:
    return str(type_of_column(column)), column.get("dataTypeDisplay")


def _type_spelling(data_type: object) -> str:
    """Return a type without case and blanks, as people spell it in either way."""
    return "".join(str(data_type).split()).casefold()


def announcements_of_difference(
    change: WrittenChange, carried_out: Iterable[AnnouncedChange]
) -> tuple[Announcement, ...]:
    """Return what these requests, which ended with what they announced, say of the difference of two versions.

    A column that differs otherwise than its request announced, because it was changed again since, is ``OTHERWISE``.
    """
    done_requests = [one for one in carried_out if one.done_at_ms is not None]
    requests = {one.column_path: one for one in sorted(done_requests, key=lambda one: one.number)}
    return tuple(
        _announcement_of_version(request, fate.field, done_requests)
        if fate.is_as_announced
        else Announcement(request=request.name, outcome=ChangeOutcome.OTHERWISE, field=fate.field)
        for request in requests.values()
        for fate in _fates(request, change, request.done_at_ms or 0, _chain_from(request, done_requests))
    )


def _chain_from(request: AnnouncedChange, carried_out: Sequence[AnnouncedChange]) -> _Chain | None:
    return None if request.column_path is None else _chain_of(request, carried_out)


def announcements_of_version(
    entity_type: str, reasons: Sequence[BreakingReason], carried_out: Iterable[AnnouncedChange]
) -> tuple[Announcement, ...]:
    """Return what these requests, which ended with what they announced, say of the changes of a version."""
    done_requests = list(carried_out)
    requests = {one.column_path: one for one in done_requests}
    paths = ((one, None if one.field is None else column_path_in(entity_type, one.field)) for one in reasons)
    announcements = [
        _announcement_of_version(requests[path], reason.field, done_requests)
        for reason, path in paths
        if path in requests and (reason.kind in OF_MEMBERS or reason.field is None)
    ]
    if None in requests and all(one.field is not None for one in announcements):  # of an asset that nothing read
        announcements.append(_announcement_of_version(requests[None], None, []))
    return tuple(announcements)


def _announcement_of_version(
    request: AnnouncedChange, field: str | None, carried_out: Sequence[AnnouncedChange]
) -> Announcement:
    chain = _chain_from(request, carried_out)
    deciding_request = request if chain is None else chain.deciding_request
    return Announcement(
        request=deciding_request.name,
        outcome=deciding_request.outcome or ChangeOutcome.AS_ANNOUNCED,
        field=field,
        renamed_to=chain and chain.new_name,
    )


def reasons_of_version_left(
    reasons: Sequence[BreakingReason], announcements: Sequence[Announcement]
) -> tuple[BreakingReason, ...]:
    """Return the reasons of a version without those of changes that were made as announced."""
    return _judged_reasons(reasons, announcements)

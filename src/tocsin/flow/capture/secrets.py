"""Secrets of connections: stored encrypted outside the document, which holds masks in their place.

So no version, event, log line or response holds a secret. Writing a mask back keeps the secret as long as the
connection has the same target. Bots, which need secrets to connect, read them in clear
(``server/entities/serialize.py``). ``model/secret.py`` defines what is secret; ``delivery/channels/masking.py``
does the same for alerts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tocsin.errors import InvalidInput, WrongKey
from tocsin.flow.capture.ports import Transaction
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType, words
from tocsin.model.own_address import CODES, SETTERS, VERIFIED
from tocsin.model.secret import (
    CONNECTIONS,
    PROFILE,
    SUBSCRIPTION,
    Steps,
    is_free,
    is_password,
    is_secret,
    kept_text,
    normalize_address,
    shown_text,
)

KIND = "secrets"
"""As what the secrets of an entity are attached to it: values by the path of their place."""

_PEOPLE = ("user", "team")
_LEADS_NOWHERE = words(
    "catalog classificationLanguage classificationName database databaseName databaseSchema description displayName "
    "excludes includes labels queryHistoryTable queryTag sslMode startDate user username"
)
"""Texts that do not say where a connection leads, as long as they are simple."""

_SIMPLE = re.compile(r"[\w .@$^*|+-]*")
_PORT = re.compile(r"port", re.IGNORECASE)
_Value = Any  # Any: a JSON value inside a connection
_Change = Callable[[Steps, Any], Any]  # Any: as above


def parts_of(kind: EntityType) -> tuple[str, ...]:
    """Return the keys of a type that say how to connect, and may contain secrets; bots read them in clear."""
    return tuple(key for key in CONNECTIONS if key in kind.keys)


def sealed_parts_of(kind: EntityType) -> tuple[str, ...]:
    """Return the keys of a type that may contain secrets."""
    return (*parts_of(kind), *((PROFILE,) if kind.name in _PEOPLE else ()))


def hide_secrets(
    transaction: Transaction,
    kind: EntityType,
    entity_id: str,
    fields: Document,
    *,
    before: Document | None = None,
    actor_id: str | None = None,
) -> Document:
    """Return an entity's fields with masks in place of the secrets, which are stored separately.

    ``before`` is the current document: a mask keeps its secret only while the connection has the same target.
    ``actor_id`` is who writes: of each own address of a person or team it is remembered who set it.

    Raises
    ------
    InvalidInput : a mask without a known secret, or for a secret that was given for another address
    WrongKey : a mask for a secret that was encrypted with a key which is not configured
    """
    sealed_keys = sealed_parts_of(kind)
    parts = [key for key in sealed_keys if isinstance(fields.get(key), dict)]
    if not parts and not any(isinstance((before or {}).get(key), dict) for key in sealed_keys):
        return fields
    stored_secrets, unreadable = _stored_secrets(transaction, entity_id)
    if unreadable is not None and any(True for key in parts for _ in _masks((key,), fields[key])):
        raise unreadable
    clear = {key: _with_secrets(key, fields[key], stored_secrets) for key in parts}
    for key in parts:
        _check_targets(key, fields[key], (clear[key], in_clear_part(key, (before or {}).get(key), stored_secrets)))
    if PROFILE in sealed_keys and actor_id is not None:
        states = (in_clear_part(PROFILE, (before or {}).get(PROFILE), stored_secrets), clear.get(PROFILE))
        _remember_setters(transaction, entity_id, states, actor_id)
    masked_fields, secrets = split(clear)
    if secrets != stored_secrets or unreadable is not None:
        transaction.attachments.put(entity_id, KIND, secrets)
    return fields | masked_fields


def split(parts: Document) -> tuple[Document, Document]:
    """Return parts of a document, given in clear, with masks in place of their secrets, and the secrets by place."""
    secrets: Document = {}

    def mask(steps: Steps, value: _Value) -> _Value:
        masked = _masked_value(steps, value)
        if masked != value:
            secrets[".".join(steps)] = value
        return masked

    return {key: _map_values((key,), value, mask) for key, value in parts.items()}, secrets


def keeps_its_secrets(transaction: Transaction, kind: EntityType, old: tuple[str, Document], fields: Document) -> bool:
    """Return whether ``hide_secrets`` would take these fields, with all their masks, for an entity: id and document."""
    entity_id, before = old
    stored_secrets, unreadable = _stored_secrets(transaction, entity_id)
    try:
        for key in (key for key in sealed_parts_of(kind) if isinstance(fields.get(key), dict)):
            clear = _with_secrets(key, fields[key], stored_secrets)
            _check_targets(key, fields[key], (clear, in_clear_part(key, before.get(key), stored_secrets)))
    except InvalidInput:
        return False
    return unreadable is None


def in_clear(kind: EntityType, document: Document, secrets: Document) -> Document:
    """Return a document with its secrets in place of the masks."""
    parts = [key for key in parts_of(kind) if isinstance(document.get(key), dict)]
    return document | {key: in_clear_part(key, document[key], secrets) for key in parts}


def in_clear_part(key: str, part: _Value, secrets: Document) -> _Value:
    """Return the value under one key with its secrets in place of the masks."""
    return _map_values(
        (key,), part, lambda steps, value: secrets.get(".".join(steps), value) if _is_masked(value) else value
    )


def _stored_secrets(transaction: Transaction, entity_id: str) -> tuple[Document, WrongKey | None]:
    """Return the stored secrets, or why they cannot be read: new secrets do not need them."""
    try:
        return transaction.attachments.get(entity_id, KIND) or {}, None
    except WrongKey as unreadable:
        return {}, unreadable


def _masked_value(steps: Steps, value: _Value) -> _Value:
    """Return what is shown of a value: itself, a mask, or an address with masks in it."""
    if isinstance(value, str):
        return (MASK if is_secret(steps) else shown_text(steps, value)) if value else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if is_number and is_free(steps) else value


def _with_secrets(key: str, part: _Value, secrets: Document) -> _Value:
    """Return a part as sent, with each mask replaced by the stored secret."""

    def open_(steps: Steps, value: _Value) -> _Value:
        if not _is_masked(value):
            return value
        place = ".".join(steps)
        secret = secrets.get(place) if value == MASK else kept_text(steps, value, secrets.get(place))
        if secret is None:
            way_out = (
                "no secret is stored: send it" if value == MASK else "does not match the stored value: send it in full"
            )
            raise InvalidInput(f"{place} contains the mask {MASK}, but {way_out}", field=place)
        return secret

    return _map_values((key,), part, open_)


def _remember_setters(transaction: Transaction, entity_id: str, states: tuple[_Value, _Value], actor_id: str) -> None:
    """Note who set each own address that a write changes; such a one, or one that is gone, is verified no longer."""
    before, now = ((one or {}).get(SUBSCRIPTION) or {} for one in states)
    if now == before:
        return
    same_keys = {key for key in now if now[key] and now[key] == before.get(key)}
    attachments = transaction.attachments
    old_setters = attachments.get(entity_id, SETTERS) or {}
    setters = {key: old_setters.get(key) if key in same_keys else actor_id for key in now if now[key]}
    _replace(transaction, entity_id, SETTERS, {key: one for key, one in setters.items() if one is not None})
    for kind in (VERIFIED, CODES):
        remaining = attachments.get(entity_id, kind) or {}
        _replace(transaction, entity_id, kind, {key: one for key, one in remaining.items() if key in same_keys})


def _replace(transaction: Transaction, entity_id: str, kind: str, document: Document) -> None:
    if document != (transaction.attachments.get(entity_id, kind) or {}):
        transaction.attachments.put(entity_id, kind, document)


def _check_targets(key: str, part: _Value, states: tuple[_Value, _Value]) -> None:
    """Refuse masks when what is meant now leads elsewhere than before; each address of a person is for itself."""
    if key != PROFILE:
        _check_target((key,), part, states)
        return
    part, now, before = ((one or {}).get(SUBSCRIPTION) or {} for one in (part, *states))
    for kind in part:
        _check_target((key, SUBSCRIPTION, kind), part[kind], (now.get(kind), before.get(kind)))


def _check_target(place: Steps, part: _Value, states: tuple[_Value, _Value]) -> None:
    mask_steps = next(_masks(place, part), None)
    if mask_steps is None:
        return
    now, before = (_target(place, state) for state in states)
    changed = next((steps for steps in sorted(now.keys() | before.keys()) if now.get(steps) != before.get(steps)), None)
    if changed is not None:
        mask_at, where = ".".join(mask_steps), ".".join(changed)
        raise InvalidInput(
            f"{mask_at} contains the mask {MASK}, but a secret is only kept while the connection's endpoint"
            f" stays the same, and {where} has changed: send the secret again",
            field=mask_at,
        )


def _target(place: Steps, part: _Value) -> dict[Steps, object]:
    """Return all in a part, given in clear, that may say where it leads."""
    leading = ((steps, value) for steps, value in _values_in(place, part) if _may_lead(steps, value))
    return {steps: normalize_address(value) if isinstance(value, str) else value for steps, value in leading}


def _may_lead(steps: Steps, value: _Value) -> bool:
    if is_free(steps):
        return True
    if isinstance(value, str):
        is_aside = any(step in _LEADS_NOWHERE for step in steps[-2:]) and _SIMPLE.fullmatch(value)
        return bool(value) and not is_password(steps) and not is_aside
    return isinstance(value, int) and not isinstance(value, bool) and bool(_PORT.search(steps[-1]))


def _masks(place: Steps, part: _Value) -> Iterator[Steps]:
    """Yield the paths of the masks in a part."""
    return (steps for steps, value in _values_in(place, part) if _is_masked(value))


def _is_masked(value: _Value) -> bool:
    return isinstance(value, str) and MASK in value


def _map_values(steps: Steps, value: _Value, change: _Change) -> _Value:
    if isinstance(value, dict):
        return {key: _map_values((*steps, key), inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_map_values((*steps, str(at)), inner, change) for at, inner in enumerate(value)]
    return change(steps, value)


def _values_in(steps: Steps, value: _Value) -> Iterator[tuple[Steps, _Value]]:
    """Yield every value in a part that is neither an object nor a list, with its path."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _values_in((*steps, str(key)), inner)
    else:
        yield steps, value

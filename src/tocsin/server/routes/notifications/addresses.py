"""Routes of own addresses of people and teams: set, send a code there, verify with it, list and remove.

Only the person, of a team its owners and administrators, may do so; administrators may also look at a person's. An
address is part of the profile and changes as that does. Next: ``store/catalogue/people/address_codes.py``.
"""

from __future__ import annotations

from typing import Literal

from fastapi import Response
from starlette.concurrency import run_in_threadpool

from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.own_address import (
    CODE_LIFE_MS,
    OWN_KEYS,
    AddressCode,
    AddressState,
    OwnAddressRequest,
    stored_addresses,
)
from tocsin.model.secret import PROFILE, SUBSCRIPTION
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.alerts.address_messages import Errand, new_code, send_code
from tocsin.server.alerts.hourly_counts import count_trial
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import COUNT, ID, OPEN, TEXT, TIME, array, either, exact_object, nullable, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.store.catalogue.people.address_codes import CodeVerdict

OwnChannel = Literal["Slack", "MsTeams", "GChat", "Webhook"]
"""The channels of which people and teams have own addresses: those of ``OWN_KEYS``."""

_MINUTE_MS = 60_000
_ADDRESS: Shape[tuple[AddressState, Document | None]] = {
    "channel": (either(*OWN_KEYS), lambda shown: shown[0].channel.value),
    "address": ({**TEXT, "description": "With masks in place of secrets."}, lambda shown: shown[0].address),
    "state": (
        {**either("verified", "unverified"), "description": "Nothing is sent to an unverified address."},
        lambda shown: "unverified" if shown[0].verified_at_ms is None else "verified",
    ),
    "verifiedAt": (nullable(TIME), lambda shown: shown[0].verified_at_ms),
    "verifiedBy": (
        nullable({**ID, "description": "The message whose code verified it; null where it was in use before."}),
        lambda shown: shown[0].message_id,
    ),
    "setBy": (nullable(ref("EntityReference")), lambda shown: shown[1]),
    "codeExpiresAt": (nullable(TIME), lambda shown: shown[0].code and shown[0].code.expires_at_ms),
    "triesLeft": (nullable(COUNT), lambda shown: shown[0].code and shown[0].code.tries_left),
}
_SHOWN = schema_of(_ADDRESS)
_LIST = exact_object({"data": array(_SHOWN)})
_SENT = exact_object({"statusDetails": {**OPEN, "description": "As of a test of a destination."}, "address": _SHOWN})

router = DeclaredRoutes(tags=["inbox"])


@router.get("/addresses/{holder_id}", openapi_extra=answers("OwnAddresses", _LIST))
def list_addresses(holder_id: PathId, caller: Asked) -> Response:
    """Return the own addresses of a user or team, masked, and whether they are verified."""
    kind, holder = _holder(str(holder_id), caller)
    if not (_may_set(kind, holder, caller) or (caller.actor.is_admin and not caller.actor.is_bot)):
        raise _refusal(kind)
    return answer({"data": _shown_addresses(holder["id"], caller)})


@router.put(
    "/addresses/{holder_id}/{channel}",
    openapi_extra=answers("OwnAddress", _SHOWN, reads="OwnAddressRequest", never="409"),
)
def put_address(holder_id: PathId, channel: OwnChannel, body: DocumentBody, caller: Asked) -> Response:
    """Set the own address of a user or team for a channel; a new or changed one is unverified and gets nothing yet."""
    kind, holder = _own_holder(str(holder_id), caller)
    address = parse_as(OwnAddressRequest, body).to_wire()
    _patch(kind, holder, _operation_of(holder.get(PROFILE), OWN_KEYS[Channel(channel)], address), caller)
    return answer(_shown_address(holder["id"], Channel(channel), caller))


@router.delete("/addresses/{holder_id}/{channel}", openapi_extra=answers("OwnAddresses", _LIST))
def delete_address(holder_id: PathId, channel: OwnChannel, caller: Asked) -> Response:
    """Remove the own address of a user or team for a channel; return those that are left."""
    kind, holder = _own_holder(str(holder_id), caller)
    _check_address(holder, Channel(channel))
    path = f"/{PROFILE}/{SUBSCRIPTION}/{OWN_KEYS[Channel(channel)]}"
    _patch(kind, holder, {"op": "remove", "path": path}, caller)
    return answer({"data": _shown_addresses(holder["id"], caller)})


@router.post(
    "/addresses/{holder_id}/{channel}/code",
    openapi_extra=answers("SentAddressCode", _SENT, refuses="429", never="409"),
)
async def send_address_code(holder_id: PathId, channel: OwnChannel, caller: Asked) -> Response:
    """Send a message with a code to an own address; who enters the code within 15 minutes has verified it.

    A new code ends the one before. It counts as a test message.
    """
    errand, address = await run_in_threadpool(_errand_of, str(holder_id), Channel(channel), caller)
    code = new_code()
    status, message_id = await send_code(errand, address, code, caller)

    def keep() -> Document:
        if status["status"] == "Success":
            message = message_id, errand.now_ms
            place = errand.holder_id, errand.channel
            codes = caller.parts.alert_stores.address_codes
            if codes.keep(place, address, code, asker_id=caller.actor.id, sent=message) is None:
                raise InvalidInput("has changed meanwhile: send a code to the new address", field="channel")
        return _shown_address(errand.holder_id, errand.channel, caller)

    return answer({"statusDetails": status, "address": await run_in_threadpool(keep)})


@router.post(
    "/addresses/{holder_id}/{channel}/verify",
    openapi_extra=answers("OwnAddress", _SHOWN, reads="AddressCode", never="409"),
)
def verify_address(holder_id: PathId, channel: OwnChannel, body: DocumentBody, caller: Asked) -> Response:
    """Verify an own address with the code that was sent there; messages go there from then on.

    The code is for who asked for it, and for the address as it was then. After five wrong ones it has ended.
    """
    _, holder = _own_holder(str(holder_id), caller)
    _check_address(holder, Channel(channel))
    code = "".join(parse_as(AddressCode, body).code.split()).replace("-", "").upper()
    now_ms = caller.parts.clock.now_ms()
    place = holder["id"], Channel(channel)
    codes = caller.parts.alert_stores.address_codes
    verdict, remaining = codes.enter(place, code, asker_id=caller.actor.id, now_ms=now_ms)
    match verdict:
        case CodeVerdict.NONE:
            minutes = CODE_LIFE_MS // _MINUTE_MS
            raise InvalidInput(f"no code is valid; send a new one, which is for {minutes} minutes", field="code")
        case CodeVerdict.SPENT:
            raise InvalidInput("is wrong, and was the last try; send a new one", field="code")
        case CodeVerdict.WRONG if remaining is not None:
            raise InvalidInput(f"is wrong; tries left: {remaining.tries_left}", field="code")
    return answer(_shown_address(holder["id"], Channel(channel), caller))


def _holder(holder_id: str, caller: Caller) -> tuple[str, Document]:
    """Return the type and document of a user or team that the caller may see."""
    key = Key.by_id(holder_id)
    kind = "user" if caller.parts.catalogue.reference("user", key) else "team"
    return kind, visible_document(ENTITY_TYPES[kind], key, caller)


def _own_holder(holder_id: str, caller: Caller) -> tuple[str, Document]:
    """Return the user or team whose addresses the caller may set."""
    kind, holder = _holder(holder_id, caller)
    if not _may_set(kind, holder, caller):
        raise _refusal(kind)
    return kind, holder


def _may_set(kind: str, holder: Document, caller: Caller) -> bool:
    """Return whether the caller may set and verify the addresses: as ``may_set_address`` says of who writes."""
    actor = caller.actor
    if actor.is_bot or kind == "user":
        return not actor.is_bot and actor.id == holder["id"]
    owner_ids = {one["id"] for one in holder.get("owners") or ()}
    return actor.is_admin or not owner_ids.isdisjoint({actor.id, *caller.permissions.subject.teams})


def _refusal(kind: str) -> Forbidden:
    if kind == "user":
        return Forbidden("Only the person may set and verify their own addresses.")
    return Forbidden("Only people who own the team, and administrators, may set and verify its own addresses.")


def _check_address(holder: Document, channel: Channel) -> None:
    if OWN_KEYS[channel] not in stored_addresses(holder):
        raise _missing_address(holder, channel)


def _missing_address(holder: Document, channel: Channel) -> NotFound:
    return NotFound(f"{holder['name']} has no own address for {channel.value}; set one first")


def _errand_of(holder_id: str, channel: Channel, caller: Caller) -> tuple[Errand, Document]:
    """Return to whose address a code goes, and the address with its secrets; the message counts as a test."""
    kind, holder = _own_holder(holder_id, caller)
    address = caller.parts.alert_stores.address_codes.address(holder["id"], channel)
    if address is None:
        raise _missing_address(holder, channel)
    count_trial(caller)
    name = str(holder.get("displayName") or holder["name"])
    return Errand(kind, holder["id"], name, channel, caller.parts.clock.now_ms()), address


def _operation_of(profile: Document | None, key: str, address: Document) -> Document:
    """Return the operation that sets an address in a profile, and nothing else."""
    path, value = f"/{PROFILE}", {SUBSCRIPTION: {key: address}}
    if profile is not None:
        path, value = f"{path}/{SUBSCRIPTION}", value[SUBSCRIPTION]
        if profile.get(SUBSCRIPTION) is not None:
            path, value = f"{path}/{key}", value[key]
    return {"op": "add", "path": path, "value": value}


def _patch(kind: str, holder: Document, operation: Document, caller: Caller) -> None:
    caller.parts.writes.patch(kind, Key.by_id(holder["id"]), [operation], actor=caller.actor)


def _shown_addresses(holder_id: str, caller: Caller) -> list[Document]:
    states = caller.parts.alert_stores.address_codes.states(holder_id, now_ms=caller.parts.clock.now_ms())
    setter_ids = {state.setter_id for state in states if state.setter_id}
    references = caller.parts.catalogue.references(setter_ids).values()
    setters = {one["id"]: one for one in visible_references(caller, references)}
    return [json_of(_ADDRESS, (state, setters.get(state.setter_id or ""))) for state in states]


def _shown_address(holder_id: str, channel: Channel, caller: Caller) -> Document:
    addresses = _shown_addresses(holder_id, caller)
    return next(one for one in addresses if one["channel"] == channel.value)

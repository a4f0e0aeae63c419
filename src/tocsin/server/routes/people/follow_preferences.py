"""Route of what a person has chosen for one follow: which kinds it tells of, over which channels, and how often.

Only the person or an administrator may choose. Next: ``store/catalogue/relations/follow_choices.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Response

from tocsin.alerts.saved_searches import SEARCH
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.change_kinds import Frequency
from tocsin.model.entity import Document
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.notification import follow_key
from tocsin.model.roles import AssetRole
from tocsin.server.entities.followed_assets import places_of, uncounted_follows
from tocsin.server.http.errors import parse_as
from tocsin.server.http.remarks import remarks_header
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.inbox.message_remarks import remarks_on_follow
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.notifications.inbox import Owner
from tocsin.server.routes.notifications.preferences import check_channels, check_table, verified_channels_of

_ALERT = "eventsubscription"
_NOT_REACHED = "notReached"
OfFollow = Annotated[
    str | None, Query(min_length=1, max_length=3000, description="The column, if it is one that is followed.")
]
router = DeclaredRoutes(tags=["followers"])


@router.put(
    "/users/{user_id}/following/{followed_id}/preferences",
    openapi_extra=answers("FollowChoices", reads="FollowChoices", never="409"),
)
def put_follow_preferences(
    owner: Owner, followed_id: PathId, body: DocumentBody, caller: Asked, column: OfFollow = None
) -> Response:
    """Replace what a user has chosen for one follow: of an asset, a column of it, or a saved search; `{}` ends it.

    `kinds` are as of preferences; `channels` count for all other kinds. It counts for what they are told of through
    this follow, above their preferences; mandatory kinds, mutes and quiet hours stay. `X-Tocsin-Remarks` says why
    nothing comes over a channel that is chosen.
    """
    choices, key = parse_as(FollowChoices, body), follow_key(str(followed_id), column)
    check_choices(choices, caller)
    places = places_of(uncounted_follows(owner, caller))
    if key not in {follow_key(*place) for place in places} and not _is_own_search(str(followed_id), owner, caller):
        raise NotFound(f"the user does not follow {followed_id}{f', column {column}' if column else ''}")
    choose_for_follows(owner, {key: choices}, caller)
    remarks = [
        {"kind": _NOT_REACHED, "message": remark, "field": "channels"}
        for remark in remarks_on_choices(owner, choices, caller)
    ]
    return answer(choices.to_stored(), headers=remarks_header(remarks))


def choose_for_follows(user_id: str, choices: Mapping[str, FollowChoices], caller: Caller) -> None:
    """Store what a person has chosen for follows; what they chose for what they follow no longer goes."""
    stores = caller.parts.alert_stores
    earlier_keys = stores.preferences.choices_for_follows(user_id).keys()  # what is chosen meanwhile stays
    follows = [*stores.followed_assets.of(user_id), *stores.team_follows.of_member(user_id)]
    followed_keys = {follow_key(*place) for place in places_of(follows)} | _owned_alerts(user_id, caller)
    now_ms = caller.parts.clock.now_ms()
    ended_keys = earlier_keys - followed_keys - choices.keys()
    stores.preferences.choose_for_follows(user_id, choices, ended_keys, now_ms=now_ms)


def check_choices(choices: FollowChoices, caller: Caller) -> None:
    """Refuse choices of kinds and channels that there are not, and of a mandatory kind never.

    Raises
    ------
    InvalidInput : one of them is refused
    """
    check_table(choices.kinds, "kinds")
    check_channels(choices.channels, "channels")
    mandatory = caller.parts.alert_stores.preferences.defaults().mandatory_in((AssetRole.FOLLOWED,))
    for name, by_channel in choices.kinds.items():
        if name in mandatory and Frequency.NEVER in by_channel.values():
            raise InvalidInput("is mandatory here, so it cannot be switched off", field=f"kinds.{name}")


def parse_choices_for(user_id: str, request: Document, caller: Caller) -> FollowChoices | None:
    """Return what a request chooses for the follows that it selects; None if nothing.

    Raises
    ------
    Forbidden : the caller is neither the person nor an administrator
    """
    if "preferences" not in request:
        return None
    if caller.actor.id != user_id and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may choose what follows tell of.")
    choices = parse_as(FollowChoices, request["preferences"])
    check_choices(choices, caller)
    return choices


def remarks_on_choices(user_id: str, choices: FollowChoices, caller: Caller) -> list[str]:
    """Return why follows with these choices do not tell over what is chosen: a sentence each."""
    parts = caller.parts
    verified_channels = verified_channels_of(user_id, caller)
    has_mail_server = parts.settings.smtp_host is not None
    return list(
        remarks_on_follow(choices.heard_channels, verified_channels, parts.catalogue, has_mail_server=has_mail_server)
    )


def _is_own_search(alert_id: str, user_id: str, caller: Caller) -> bool:
    if alert_id not in _owned_alerts(user_id, caller):
        return False
    return any(SEARCH in alert for alert in caller.parts.entities.search.documents([alert_id]).values())


def _owned_alerts(user_id: str, caller: Caller) -> set[str]:
    return {str(asset["id"]) for asset in caller.parts.catalogue.owns(user_id) if asset["type"] == _ALERT}

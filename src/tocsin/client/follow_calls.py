"""Request builders for what a person follows: the list, many at once, recommendations, saved searches.

``Client`` and ``AsyncClient`` offer them like those of ``client/calls.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from pydantic.alias_generators import to_camel

from tocsin.client.call import ApiCall, Filter, Pages, pages_of, read_document, read_entries
from tocsin.model.entity import Document


def followed_assets(user_id: str, **filters: Filter) -> Pages[Document]:
    """Iterate over what a user follows: ``asset``, ``column``, ``since``, ``lastChange``, ``lastOpened``, ``told``, ….

    Filters are the API's: ``type``, ``q``, ``review`` (``stale``, ``noisy``, ``gone``, ``expiring``), ``sort_field``,
    ``sort_order``.
    """
    return pages_of(f"users/{quote(user_id, safe='')}/following", filters, read_document)


def follow_assets(
    user_id: str, *, dry_run: bool = False, preferences: Document | None = None, **selection: str | Sequence[str]
) -> ApiCall[Document]:
    """Let a user follow many assets; return what became of each; with ``dry_run`` only what would.

    They are selected by ``ids``, by ``names`` (FQNs, perhaps with their ``type``), or by a search ``query``, perhaps
    with ``index`` and ``query_filter``; with ``column`` it is this column of each. The ``review`` ``expiring`` keeps
    what is followed and about to end.
    ``preferences`` are what each of these follows tells of, as for ``prefer_of_follow``.
    """
    return _change(user_id, "follows", selection, dry_run=dry_run, preferences=preferences)


def prefer_of_follow(
    user_id: str, followed_id: str, preferred: Document, *, column: str | None = None
) -> ApiCall[Document]:
    """Replace what a user has chosen for one follow, perhaps of a column: ``kinds`` and ``channels``; ``{}`` for none.

    ``{"kinds": {"columns": {"Email": "daily"}}, "channels": {"Email": "never"}}`` mails of columns only.
    """
    path = f"users/{quote(user_id, safe='')}/following/{quote(followed_id, safe='')}/preferences"
    params = {} if column is None else {"column": column}
    return ApiCall("PUT", path, read_document, params, body=preferred)


def unfollow_assets(user_id: str, *, dry_run: bool = False, **selection: str | Sequence[str]) -> ApiCall[Document]:
    """Let a user follow many assets no longer.

    They are selected as in ``follow_assets``, or as ``followed_assets`` lists them: by a ``review``, ``q``, or both,
    perhaps of one ``type``.
    """
    return _change(user_id, "unfollow", selection, dry_run=dry_run)


def team_follows(team_id: str) -> ApiCall[tuple[Document, ...]]:
    """Return what the members of a team follow by default: ``asset``, ``since``, ``deleted``."""
    return ApiCall("GET", f"teams/{quote(team_id, safe='')}/follows", read_entries)


def follow_for_team(team_id: str, *, dry_run: bool = False, **selection: str | Sequence[str]) -> ApiCall[Document]:
    """Let the members of a team follow assets by default, selected as in ``follow_assets`` without ``column``."""
    return _change(team_id, "follows", selection, dry_run=dry_run, holders="teams")


def unfollow_for_team(team_id: str, *, dry_run: bool = False, **selection: str | Sequence[str]) -> ApiCall[Document]:
    """Let the members of a team no longer follow assets by default, selected likewise or by ``q``."""
    return _change(team_id, "unfollow", selection, dry_run=dry_run, holders="teams")


def recommendations(user_id: str, *, limit: int = 10) -> ApiCall[tuple[Document, ...]]:
    """Return assets that a user may like to follow, the best first: ``asset``, and ``reasons`` with their ``text``."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/recommendations", read_entries, {"limit": str(limit)})


def dismissed_recommendations(user_id: str) -> ApiCall[tuple[Document, ...]]:
    """Return the newest 30 assets that a user does not want to be recommended: ``asset``, ``dismissedAt``."""
    params = {"dismissed": "true", "limit": "30"}
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/recommendations", read_entries, params)


def dismiss_recommendation(user_id: str, asset_id: str, *, undo: bool = False) -> ApiCall[Document]:
    """Have an asset recommended to a user no more; with ``undo`` again."""
    path = f"users/{quote(user_id, safe='')}/recommendations/{quote(asset_id, safe='')}/dismissal"
    return ApiCall("DELETE" if undo else "PUT", path, read_document)


def save_search(user_id: str, **search: str | bool) -> ApiCall[Document]:
    """Save a search: its ``query``, perhaps with ``name`` and ``index``, or the id of an ``original``.

    With ``follows`` its owner is notified of changes of what it finds. Returns the ``search``, and how many it finds.
    """
    return ApiCall("POST", f"users/{quote(user_id, safe='')}/searches", read_document, body=dict(search))


def saved_searches(user_id: str) -> ApiCall[tuple[Document, ...]]:
    """Return the searches that a user has saved, by name."""
    return ApiCall("GET", f"users/{quote(user_id, safe='')}/searches", read_entries)


def saved_search(search_id: str) -> ApiCall[Document]:
    """Return a saved search by its id, of whomever, and how many assets it ``found`` that one may view."""
    return ApiCall("GET", f"searches/{quote(search_id, safe='')}", read_document)


def follow_search(search_id: str, *, follows: bool = True) -> ApiCall[Document]:
    """Follow a saved search of one's own, or no longer."""
    return ApiCall("PUT", f"searches/{quote(search_id, safe='')}/follow", read_document, body={"follows": follows})


def delete_search(search_id: str) -> ApiCall[Document]:
    """Delete a saved search of one's own, and with it its follow."""
    return ApiCall("DELETE", f"searches/{quote(search_id, safe='')}", read_document)


def _change(
    holder_id: str,
    action: str,
    selection: dict[str, str | Sequence[str]],
    *,
    dry_run: bool,
    holders: str = "users",
    preferences: Document | None = None,
) -> ApiCall[Document]:
    body: Document = {
        to_camel(key): value if isinstance(value, str) else list(value) for key, value in selection.items()
    }
    body |= {"dryRun": True} if dry_run else {}
    body |= {} if preferences is None else {"preferences": preferences}
    return ApiCall("POST", f"{holders}/{quote(holder_id, safe='')}/{action}", read_document, body=body)

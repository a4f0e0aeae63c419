"""Matches that are withheld: an alert never matches what its editors may not view.

Rights are those of the moment when the pipeline looks. Editors who are deleted read nothing, so they withhold nothing
here; what goes to an endpoint of theirs is left out by ``flow/resolve/only_visible.py``.
Next: ``jobs/resolving.py``, which asks before incidents, cascades and recipients are worked out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.flow.resolve.only_visible import Events, Sight
from tocsin.model.access import Operation
from tocsin.model.match_result import Pair

AlertAssets = Set[tuple[str, str]]
"""Pairs of the ids of an alert and of an asset."""


def withheld(matched: Mapping[int, Collection[str]], policies: PolicySnapshot, events: Events) -> dict[Pair, str]:
    """Return which of these matches, alerts by the offset of an event, are withheld, and for which editor.

    Where the editors of all these alerts may view everything, no event is looked up.
    """
    limited = _limiting({alert for alerts in matched.values() for alert in alerts}, policies, events)
    concerned = {offset: limited.keys() & alerts for offset, alerts in matched.items()} if limited else {}
    about = {offset: alerts for offset, alerts in concerned.items() if alerts}
    if not about:
        return {}
    sight, found = Sight(policies, events.subjects(about.keys())), dict[Pair, str]()
    for offset, alerts in about.items():
        for alert in alerts:
            hidden_from = next((editor for editor in limited[alert] if not sight.may_view(editor, offset)), None)
            if hidden_from is not None:
                found[offset, alert] = hidden_from
    return found


def hidden_assets(assets: AlertAssets, policies: PolicySnapshot, events: Events) -> AlertAssets:
    """Return those of these pairs of an alert and an asset of which an editor of the alert may not view the asset.

    What happens to such an asset must not show in the alert: neither in what holds it back nor in how it is grouped.
    """
    limited = _limiting({alert for alert, _ in assets}, policies, events)
    asked = {(alert, asset) for alert, asset in assets if alert in limited}
    known = events.entities({asset for _, asset in asked}) if asked else {}

    def is_hidden(alert: str, asset: str) -> bool:
        return asset not in known or not all(
            policies.of(editor).may(Operation.VIEW_BASIC, *known[asset]) for editor in limited[alert]
        )

    return {pair for pair in asked if is_hidden(*pair)}


def _limiting(alerts: Collection[str], policies: PolicySnapshot, events: Events) -> dict[str, list[str]]:
    """Return, of each alert that has any, the editors who are there and may not view everything."""
    editors = events.editors_of(alerts)
    permissions = policies.of_many({editor for many in editors.values() for editor in many})
    limited = {one for one, known in permissions.items() if policies.is_limited(known)}
    by_alert = {alert: [one for one in many if one in limited] for alert, many in editors.items()}
    return {alert: many for alert, many in by_alert.items() if many}

"""Matches that are withheld: an alert never matches what its editors may not view.

Rights are those of the moment when the pipeline looks. Editors who are deleted read nothing, so they withhold nothing
here; what goes to an endpoint of theirs is left out by ``flow/resolve/only_visible.py``.
Next: ``jobs/resolving.py``, which asks before incidents, cascades and recipients are worked out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.flow.resolve.only_visible import Events, Sight
from tocsin.model.match_result import Pair


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


def _limiting(alerts: Collection[str], policies: PolicySnapshot, events: Events) -> dict[str, list[str]]:
    """Return, of each alert that has any, the editors who are there and may not view everything."""
    editors = events.editors_of(alerts)
    permissions = policies.of_many({editor for many in editors.values() for editor in many})
    limited = {one for one, known in permissions.items() if policies.is_limited(known)}
    by_alert = {alert: [one for one in many if one in limited] for alert, many in editors.items()}
    return {alert: many for alert, many in by_alert.items() if many}

"""Matches that are withheld: an alert never matches what its editors may not view.

An event can be about what a person may view and refer to what they may not, such as the domain of a table. A condition
that reads such a reference would tell its name letter by letter, by matching and by not matching. So a match is also
withheld if the condition reads a part of the event in which something is hidden from an editor.

Rights are those of the moment when the pipeline looks. Editors who are deleted read nothing, so they withhold nothing
here; what goes to an endpoint of theirs is left out by ``flow/resolve/only_visible.py``.
Next: ``flow/pipeline.py``, which asks before incidents, cascades and recipients are worked out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.conditions.references import ANY_PART
from tocsin.flow.resolve.only_visible import Events, Sight
from tocsin.model.access import Operation
from tocsin.model.match_result import Pair

AlertAssets = Set[tuple[str, str]]
"""Pairs of the ids of an alert and of an asset."""

Reads = Mapping[str, frozenset[str]]
"""The parts of events that the condition of each alert reads; of an alert that is missing, all."""
_ALL = frozenset({ANY_PART})


def withheld(
    matched: Mapping[int, Collection[str]], reads: Reads, policies: PolicySnapshot, events: Events
) -> dict[Pair, str]:
    """Return which of these matches, alerts by the offset of an event, are withheld, and for which editor.

    Where the editors of all these alerts may view everything, no event is looked up.
    """
    editors_by_alert = _limiting_editors({alert for alerts in matched.values() for alert in alerts}, policies, events)
    concerned_alerts = (
        {offset: editors_by_alert.keys() & alerts for offset, alerts in matched.items()} if editors_by_alert else {}
    )
    about = {offset: alerts for offset, alerts in concerned_alerts.items() if alerts}
    if not about:
        return {}
    sight, withheld_from = Sight(policies, events.subjects(about.keys())), dict[Pair, str]()
    for offset, alerts in about.items():
        for alert in alerts:
            blind_editor = next(
                (editor for editor in editors_by_alert[alert] if not sight.may_view(editor, offset)), None
            )
            if blind_editor is not None:
                withheld_from[offset, alert] = blind_editor
    reading = {(offset, alert) for offset, many in about.items() for alert in many if reads.get(alert, _ALL)}
    return withheld_from | _reading_hidden(reading - withheld_from.keys(), editors_by_alert, (reads, policies, events))


def reads_of_triggered(triggered: Mapping[Pair, str], reads: Reads) -> Reads:
    """Return what decides about alerts that are triggered: the conditions of those that trigger them."""
    reads_by_alert = dict[str, frozenset[str]]()
    for (_, alert), trigger in triggered.items():
        reads_by_alert[alert] = reads_by_alert.get(alert, frozenset()) | reads.get(trigger, _ALL)
    return reads_by_alert


def _reading_hidden(
    pairs: Collection[Pair], limited: Mapping[str, Sequence[str]], by: tuple[Reads, PolicySnapshot, Events]
) -> dict[Pair, str]:
    """Return which of these matches depend on a part of the event in which something is hidden from an editor."""
    (reads, policies, events), withheld_from = by, dict[Pair, str]()
    for editor in sorted({one for _, alert in pairs for one in limited[alert]}):
        editor_pairs = [pair for pair in pairs if editor in limited[pair[1]]]
        hidden_parts = events.parts_hidden({offset for offset, _ in editor_pairs}, policies.of(editor))
        for offset, alert in editor_pairs:
            parts, read = hidden_parts.get(offset, frozenset()), reads.get(alert, _ALL)
            if parts and (ANY_PART in read or parts & read):
                withheld_from.setdefault((offset, alert), editor)
    return withheld_from


def hidden_assets(assets: AlertAssets, policies: PolicySnapshot, events: Events) -> AlertAssets:
    """Return those of these pairs of an alert and an asset of which an editor of the alert may not view the asset.

    What happens to such an asset must not show in the alert: neither in what holds it back nor in how it is grouped.
    """
    editors_by_alert = _limiting_editors({alert for alert, _ in assets}, policies, events)
    pairs = {(alert, asset) for alert, asset in assets if alert in editors_by_alert}
    subjects = events.entities({asset for _, asset in pairs}) if pairs else {}

    def is_hidden(alert: str, asset: str) -> bool:
        return asset not in subjects or not all(
            policies.of(editor).may(Operation.VIEW_BASIC, *subjects[asset]) for editor in editors_by_alert[alert]
        )

    return {pair for pair in pairs if is_hidden(*pair)}


def limits_nobody(alerts: Collection[str], policies: PolicySnapshot, events: Events) -> bool:
    """Return whether everybody may view everything, and the editors of these alerts, too: bots may not."""
    return policies.are_all_open() and not _limiting_editors(alerts, policies, events)


def _limiting_editors(alerts: Collection[str], policies: PolicySnapshot, events: Events) -> dict[str, list[str]]:
    """Return, of each alert that has any, the editors who are there and may not view everything."""
    editors = events.editors_of(alerts)
    permissions = policies.of_many({editor for many in editors.values() for editor in many})
    limited = {one for one, known in permissions.items() if policies.is_limited(known)}
    by_alert = {alert: [one for one in many if one in limited] for alert, many in editors.items()}
    return {alert: many for alert, many in by_alert.items() if many}

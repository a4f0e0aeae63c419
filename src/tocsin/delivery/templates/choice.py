"""Choice of the templates of a message: what its alerts agree on, else the system templates that a person has changed.

Next: ``delivery/templates/message_text.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tocsin.delivery.dispatch import NOBODY, Dispatch, Route, Routes, Share, deciding_routes, selections
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.message_text import ChosenTemplate, MessagePlace, with_texts
from tocsin.delivery.wording.content import sort_by_importance
from tocsin.delivery.wording.guidance import guidance_of
from tocsin.model.change import ChangeEvent
from tocsin.model.channels import WORDED
from tocsin.model.message import Entry
from tocsin.model.template import Template

MOST_WORDED = 100
"""Most notifications of one message that templates word; no channel shows more."""

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def word_message(
    dispatch: Dispatch,
    routes: Routes,
    system: Mapping[str, Template],
    place: MessagePlace,
    accounts: TemplateAccounts,
) -> tuple[Dispatch, str]:
    """Return a message as templates word it, and what was wrong with one of them; that part keeps the default text.

    A notification without a template of its alerts is worded by that of ``system``, the changed system templates by
    name.
    """
    if dispatch.message.channel not in WORDED:
        return dispatch, ""
    missing_template = _template_problem(dispatch, routes)
    if not has_templates(routes, system):
        return dispatch, missing_template

    def template_of(entry: Entry) -> ChosenTemplate | None:
        return _template_of_alerts(entry, routes, system)

    entries = next(selections(sort_by_importance(dispatch), MOST_WORDED))
    worded_dispatch, problem = with_texts(dispatch, template_of, place, entries=entries, accounts=accounts)
    return worded_dispatch, problem or missing_template


def with_route_settings(dispatch: Dispatch, route: Route, routes: Routes, zone: str, **current: Any) -> Dispatch:
    """Return a message with the settings of its route: batch size, zone, payer, each alert's share and guidance.

    ``current`` are its other fields as they are now, so that the message is copied once.
    """
    return replace(
        dispatch,
        batch_size=route.batch_size,
        sends_arrays=route.sends_arrays,
        sends_types_apart=route.sends_types_apart,
        shares=shares_of(routes),
        reaches_recipient=route.reaches_recipient,
        payer=route.payer,
        guidance=guidance_of(dispatch, routes),
        zone=zone,
        **current,
    )


def has_templates(routes: Routes, system: Mapping[str, Template]) -> bool:
    """Return whether a template could word a message that leads there."""
    return bool(system) or any(route.template for route in routes.values() if route)


def _template_of_alerts(entry: Entry, routes: Routes, system: Mapping[str, Template]) -> ChosenTemplate | None:
    """Return the template that words a notification for all alerts that share it; None for the neutral text.

    Alerts of administrators decide for the others. Where those that decide differ, the text is neutral, so that nobody
    words what another person's alert says. The leading one of them pays, or the next with time left: each would alone.
    """
    deciding = [route for _, route in deciding_routes(entry, routes)]
    templates = {route.template for route in deciding}
    shared_template = templates.pop() if len(templates) == 1 else None
    template = shared_template or next((system[name] for name in system_names(entry.event) if name in system), None)
    payers = [route.payer for route in sorted(deciding, key=lambda route: route.rank)] or [NOBODY]
    return None if template is None else ChosenTemplate(template, payers)


def shares_of(routes: Routes) -> dict[str, Share]:
    """Return what a message shows for each of its alerts."""
    return {alert: route.share for (alert, _), route in routes.items() if route}


def system_names(event: ChangeEvent) -> Iterator[str]:
    """Yield the names of the system templates for an event, as upstream names them, the most special first."""
    kind = _CAPITAL.sub("-", event.event_type.value).lower()
    yield f"system-notification-{event.entity_type.lower()}-{kind}"
    yield f"system-notification-{kind}"
    yield "system-notification-entity-default"


def _template_problem(dispatch: Dispatch, routes: Routes) -> str:
    """Return that an alert names a template that is gone; nothing if none does."""
    entry_routes = (routes.get(reason.destination_key) for entry in dispatch.entries for reason in entry.reasons)
    problem = next((route.template_problem for route in entry_routes if route and route.template_problem), "")
    return f"{problem}; the default text was used" if problem else ""

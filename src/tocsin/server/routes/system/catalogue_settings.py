"""Routes of OpenMetadata's system settings, as far as its client and its workflows act on them.

Tocsin's own settings are in its configuration: ``docs/settings.md``. A value that was written is attached to the
Organization, which is always there. Next: ``docs/decisions/0096-system-settings-are-attached-to-the-organization.md``.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Response

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.observations.field_checks import Check, checked_document, flag, list_check_of, name, shape
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for
from tocsin.model.stored import Key, Stored, Written
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathText, answer, list_answer
from tocsin.sources.openlineage import mapping as openlineage

_FORMS: dict[str, Check] = {
    "profilerConfiguration": shape(
        {},
        {
            "metricConfiguration": list_check_of(
                shape({}, {"dataType": name, "metrics": list_check_of(name), "disabled": flag})
            ),
            "sampleDataConfig": shape({}, {"storeSampleData": flag, "readSampleData": flag}),
        },
    ),
    openlineage.SETTING: openlineage.FORM,
}
"""What a value that may be written looks like, by the name of the setting."""

_DEFAULTS: dict[str, Document] = {
    openlineage.SETTING: openlineage.DEFAULTS,
    "profilerConfiguration": {"metricConfiguration": []},
    "assetCertificationSettings": {"allowedClassification": "Certification", "validityPeriod": "P30D"},
}
"""Values by name: the profiler computes all its metrics; tags of one classification certify, for thirty days."""

_OF_ADMINISTRATORS = frozenset({openlineage.SETTING})
"""Settings that only administrators read: they name services that others may not see."""

_KIND = "setting:{}"

router = DeclaredRoutes(prefix="/system/settings", tags=["system"])


@router.get("", openapi_extra=answers("SettingPage"))
def list_settings(caller: Asked) -> Response:
    """Return all settings of OpenMetadata that Tocsin has."""
    visible_settings = [one for one in _DEFAULTS if caller.actor.is_admin or one not in _OF_ADMINISTRATORS]
    data = [_read_setting(setting, caller) for setting in visible_settings]
    return list_answer(data)


@router.get("/{name}", openapi_extra=answers("Setting"))
def read_setting(name: PathText, caller: Asked) -> Response:
    """Return a setting of OpenMetadata, such as ``profilerConfiguration`` or ``openLineageSettings``."""
    setting = _existing_setting(name)
    if setting in _OF_ADMINISTRATORS and not caller.actor.is_admin:
        raise Forbidden(f"Only administrators may read {setting}.")
    return answer(_read_setting(setting, caller))


@router.put("", openapi_extra=answers("Setting", reads="SettingRequest"))
def write_setting(body: DocumentBody, caller: Asked) -> Response:
    """Write a setting: ``{"config_type": "profilerConfiguration", "config_value": {…}}``; for administrators."""
    setting = _existing_setting(str(body.get("config_type")))
    if setting not in _FORMS:
        raise InvalidInput(f"{setting} cannot be changed; valid settings: {', '.join(_FORMS)}", field="config_type")
    value = value_in(body, "config_value", dict, "must be an object")
    checked_value = checked_document(_FORMS[setting], _without_nulls(value))

    def work(record: Record, organization: Stored) -> Written:
        record.transaction.attachments.put(organization.id, _KIND.format(setting), checked_value)
        return Written(organization.document, None)

    return _write(setting, work, caller)


@router.put("/reset/{name}", openapi_extra=answers("Setting"))
def reset_setting(name: PathText, caller: Asked) -> Response:
    """Give a setting its default value again; for administrators."""
    setting = _existing_setting(name)

    def work(record: Record, organization: Stored) -> Written:
        record.transaction.attachments.remove(organization.id, _KIND.format(setting))
        return Written(organization.document, None)

    return _write(setting, work, caller)


def _existing_setting(setting: str) -> str:
    if setting in _DEFAULTS:
        return setting
    raise NotFound(f"There is no setting {setting!r}; {suggestion_for(setting, sorted(_DEFAULTS))}.")


def _write(setting: str, work: Callable[[Record, Stored], Written], caller: Caller) -> Response:
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may change system settings.")
    caller.parts.writes.on_entity("team", Key.by_name(ORGANIZATION), work, actor=caller.actor)
    return answer(_read_setting(setting, caller))


def _read_setting(setting: str, caller: Caller) -> Document:
    return {"config_type": setting, "config_value": setting_value(setting, caller)}


def setting_value(setting: str, caller: Caller) -> Document:
    """Return the value of a setting: the one that an administrator has written, else its default."""
    stored: Document | None = None
    if setting in _FORMS and (root := caller.parts.catalogue.root_team()) is not None:
        stored = caller.parts.reports.observations.attachments([root["id"]], _KIND.format(setting)).get(root["id"])
    return _DEFAULTS[setting] if stored is None else stored


def _without_nulls(value: Document) -> Document:
    return {
        key: _without_nulls(inner)
        if isinstance(inner, dict)
        else [_without_nulls(one) if isinstance(one, dict) else one for one in inner]
        if isinstance(inner, list)
        else inner
        for key, inner in value.items()
        if inner is not None
    }

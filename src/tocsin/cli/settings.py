"""``tocsin settings``: all settings with their values and descriptions."""

from __future__ import annotations

from pydantic import SecretStr

from tocsin.cli.configuration import settings_of
from tocsin.cli.output import AsJson, show_rows
from tocsin.settings import Settings


def settings(*, as_json: AsJson = False) -> None:
    """Show all settings with variable, current value and meaning.

    Values come from TOCSIN_* variables, then tocsin.toml in this folder, then the defaults.
    """
    known = settings_of()
    rows = [
        {"variable": f"TOCSIN_{name.upper()}", "value": _shown(getattr(known, name)), "meaning": field.description}
        for name, field in Settings.model_fields.items()
    ]
    show_rows(rows, as_json=as_json)


def _shown(value: object) -> object:
    if isinstance(value, SecretStr):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str | dict) else str(value)

"""``tocsin settings``: all settings with their values and descriptions."""

from __future__ import annotations

from tocsin.cli.configuration import settings_of
from tocsin.cli.output import AsJson, show_rows
from tocsin.model.shown_settings import PREFIX, masked_value
from tocsin.settings import Settings


def settings(*, as_json: AsJson = False) -> None:
    """Show all settings with variable, current value and meaning.

    Values come from TOCSIN_* variables, then tocsin.toml in this folder, then the defaults.
    """
    values = settings_of()
    table = [
        {
            "variable": f"{PREFIX}{name.upper()}",
            "value": masked_value(getattr(values, name)),
            "meaning": field.description,
        }
        for name, field in Settings.model_fields.items()
    ]
    show_rows(table, as_json=as_json)

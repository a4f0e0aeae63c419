"""``tocsin settings``: all settings with their values and descriptions."""

from __future__ import annotations

import re

from pydantic import SecretStr

from tocsin.cli.configuration import settings_of
from tocsin.cli.output import AsJson, show_rows
from tocsin.model.address import MASK
from tocsin.settings import Settings


def settings(*, as_json: AsJson = False) -> None:
    """Show all settings with variable, current value and meaning.

    Values come from TOCSIN_* variables, then tocsin.toml in this folder, then the defaults.
    """
    values = settings_of()
    table = [
        {
            "variable": f"TOCSIN_{name.upper()}",
            "value": _masked_value(getattr(values, name)),
            "meaning": field.description,
        }
        for name, field in Settings.model_fields.items()
    ]
    show_rows(table, as_json=as_json)


_SECRET_NAMES = re.compile(r"secret|password|token|credential|access\.?key", re.IGNORECASE)
"""Names of Spark settings whose values are secrets, much as Spark's own ``spark.redaction.regex``."""

_PASSWORD = re.compile(r"(?<=://)([^:/@]*):.*@")


def _masked_value(value: object) -> object:
    """Return the value of a setting without the secrets in it."""
    if isinstance(value, SecretStr):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {key: MASK if _SECRET_NAMES.search(str(key)) else one for key, one in value.items()}
    if isinstance(value, str):
        return _PASSWORD.sub(rf"\1:{MASK}@", value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)

"""Settings as they are shown: each with its value, where that was set, and its default; secrets are masked.

Next: ``server/routes/system/server_settings.py``, ``cli/settings.py``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import SecretStr

from tocsin.model.address import MASK
from tocsin.settings import Settings

PREFIX = "TOCSIN_"
"""What the variable of a setting begins with."""

_SECRET_NAMES = re.compile(
    r"secret|passw|token|credential|authorization|(access|account|private|api)[._-]?key|jaas|\.sas\.", re.IGNORECASE
)
"""Names of Spark settings whose values are secrets, much as Spark's own ``spark.redaction.regex``."""

_PASSWORD = re.compile(r"(?<=://)([^:/@]*):.*@")
_ONLY_USER = re.compile(r"(?<=://)[^:/@?#\s]+@")
_NAMED_SECRET = re.compile(
    r"""((?:passw(?:or)?d|token|secret|key|credentials?|\bsig|signature)\s*=\s*)("[^"]*"|'[^']*'|[^&;,\s]+)""",
    re.IGNORECASE,
)
"""A secret inside a text: of a URL's query, a connection string, Java's options. The user of a URL may be a token."""


class SettingOrigin(StrEnum):
    """Where the value of a setting was set; ``start``: by the command that started the process."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    STORE = "store"
    START = "start"


@dataclass(frozen=True)
class ShownSetting:
    """A setting: ``value`` and ``default`` are JSON without secrets; ``is_secret``: the value is never shown."""

    name: str
    value: object
    origin: SettingOrigin
    default: object
    description: str
    is_secret: bool

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it."""
        return f"{PREFIX}{self.name.upper()}"


def settings_to_show(
    settings: Settings, *, environment: Mapping[str, str], in_file: Collection[str], in_store: Collection[str]
) -> list[ShownSetting]:
    """Return all settings as they are shown, in the order of the settings.

    ``in_file``: names in the TOML file; ``in_store``: names of secrets that the store keeps.
    """
    variables = {name.upper() for name in environment}
    answer: list[ShownSetting] = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        default = field.get_default(call_default_factory=True, validated_data={})
        if f"{PREFIX}{name.upper()}" in variables:
            origin = SettingOrigin.ENVIRONMENT
        elif name in in_file and name in settings.model_fields_set:
            origin = SettingOrigin.FILE
        elif name in in_store:
            origin, value = SettingOrigin.STORE, SecretStr(MASK)
        else:
            origin = SettingOrigin.START if name in settings.model_fields_set else SettingOrigin.DEFAULT
        is_secret = "SecretStr" in str(field.annotation)
        shown_value, shown_default = masked_value(value), masked_value(default)
        answer.append(ShownSetting(name, shown_value, origin, shown_default, field.description or "", is_secret))
    return answer


def names_in_file(path: Path) -> set[str]:
    """Return the names of settings in a TOML file; none where there is no such file, or it is no TOML by now."""
    try:
        return set(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return set()


def masked_value(value: object) -> object:
    """Return the value of a setting as JSON, without the secrets in it."""
    if isinstance(value, SecretStr):
        return str(value)
    if isinstance(value, tuple):
        return [masked_value(one) for one in value]
    if isinstance(value, dict):
        return {key: MASK if _SECRET_NAMES.search(str(key)) else masked_value(one) for key, one in value.items()}
    if isinstance(value, str):
        text = _ONLY_USER.sub(f"{MASK}@", _PASSWORD.sub(rf"\1:{MASK}@", value))
        return _NAMED_SECRET.sub(rf"\1{MASK}", text)
    return value if value is None or isinstance(value, bool | int | float) else str(value)

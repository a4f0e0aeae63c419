"""Settings of a command: its options first, then the environment, then ``tocsin.toml``."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib

from pydantic import ValidationError
from pydantic_settings import SettingsError

from tocsin.cli.alertfiles import PREFIX_OF_VARIABLES
from tocsin.errors import InvalidSetting
from tocsin.model.phrases import hint
from tocsin.model.validation_errors import message_of
from tocsin.settings import Settings

_PREFIX = "TOCSIN_"
_FIELD = re.compile(r'field "(\w+)"')
_NO_SETTINGS = frozenset({"TOCSIN_SERVER", "TOCSIN_TOKEN", "TOCSIN_LIFELINE"})
"""What commands and the parts of ``tocsin up`` read besides."""
_OTHERS = (f"{_PREFIX}TEST_", PREFIX_OF_VARIABLES)


def unknown_variables() -> list[str]:
    """Return the variables that look like settings but are not; variables for the tests are ignored."""
    valid_names = {*_variables(), *_NO_SETTINGS}
    ours = (name for name in os.environ if name.startswith(_PREFIX) and not name.startswith(_OTHERS))
    return sorted(name for name in ours if name.upper() not in valid_names)


def _variables() -> list[str]:
    return [f"{_PREFIX}{name.upper()}" for name in Settings.model_fields]


def settings_of(**options: object) -> Settings:
    """Return the settings, with those ``options`` that are not None put over them; raises InvalidSetting.

    A variable that is no setting is named on stderr, with the one that was probably meant.
    """
    for name in unknown_variables():
        suggestion = hint(name, _variables())
        sys.stderr.write(f"tocsin: unknown setting {name}{suggestion}\n")
    overrides = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks the values just here
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            suggestion = hint(name, Settings.model_fields) or "; docs/settings.md lists all settings."
            raise InvalidSetting(f"tocsin.toml: unknown setting {name}{suggestion}", field=name) from error
        raise _wrong(name, message_of(first)) from error
    except SettingsError as error:
        raise _unread(error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"tocsin.toml is not valid TOML: {error}.") from error


def _wrong(name: str, problem: str) -> InvalidSetting:
    return InvalidSetting(f"Setting {name} (TOCSIN_{name.upper()}): {problem}.", field=name)


def _unread(error: SettingsError) -> InvalidSetting:
    """Return what is wrong with a variable that holds a list or an object and is no JSON."""
    field = _FIELD.search(str(error))
    if field is None:
        return InvalidSetting(f"The settings cannot be read: {error}.")
    default = Settings.model_fields[field[1]].get_default(call_default_factory=True)
    like = '{"name": "value"}' if isinstance(default, dict) else json.dumps(default or ["10.0.0.0/8"])
    return _wrong(field[1], f"must be JSON, such as {like}")

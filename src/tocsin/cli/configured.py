"""With which settings does a command run? Its options first, then the environment, then ``tocsin.toml``."""

from __future__ import annotations

import tomllib

from pydantic import ValidationError

from tocsin.errors import InvalidSetting
from tocsin.settings import Settings


def settings_of(**options: object) -> Settings:
    """Return the settings, with those ``options`` that are not None put over them; raises InvalidSetting."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic checks the values just here
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise InvalidSetting(f"Setting {name} (TOCSIN_{name.upper()}): {first['msg']}.", field=name) from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"tocsin.toml is not valid TOML: {error}.") from error

"""Errors for missing optional dependencies: one line that names the extra to install."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tocsin.errors import MissingExtra


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn a failed import inside the block into MissingExtra for ``tocsin[extra]``.

    Imports leave hardly any garbage, and looking for it again and again takes a tenth of their time.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or "a module"
        if missing.partition(".")[0] == "tocsin":
            raise  # a fault of ours, not of the installation
        message = f"This command needs {missing}. Install it: pip install 'tocsin[{extra}]'"
        raise MissingExtra(message, extra=extra) from error
    finally:
        if is_collecting:
            gc.enable()

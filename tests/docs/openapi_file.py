"""The OpenAPI document of the server as a file, from which the types of the web application are made.

``python -m tests.docs.openapi_file web/openapi.json``; then ``npm run api`` in ``web/``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr
from tests.serving import KEY

from tocsin.server.app import build_app
from tocsin.server.openapi.document import openapi_document
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{folder}/tocsin.db", synchronous="NORMAL")
        migrate(engine)
        use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
        Path(sys.argv[1]).write_text(json.dumps(openapi_document(build_app(Settings(), engine)), indent=1) + "\n")
        engine.dispose()

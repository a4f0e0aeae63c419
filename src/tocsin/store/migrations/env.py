"""How does Alembic run a revision? On the connection that ``store/schema.py`` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from tocsin.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()

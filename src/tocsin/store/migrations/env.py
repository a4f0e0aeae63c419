"""Alembic environment: runs revisions on the connection and in the transaction of ``store/database/schema.py``."""

from __future__ import annotations

from alembic import context

from tocsin.store.database.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()

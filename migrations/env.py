"""Alembic runs the steps on the connection that `infrastructure.database` hands over."""

from alembic import context

from infrastructure.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
)
context.run_migrations()

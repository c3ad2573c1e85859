"""Read-only queries to a database, for `plan` and for the CronJob that detects missing members.

They change nothing in it, not even to prove an answer: only the operator does that, and only while it holds its lease.
"""

import asyncio

from msgspec.structs import replace

from stateward.engines.connection.base import Engine, Target
from stateward.planning.model.observation import Database, Unknown

PATIENCE = 10.0
"""Seconds for the database's answer."""


async def observe_read_only(engine: Engine, target: Target) -> Database | Unknown:
    """Return the database's answer to reads alone; what was not proved counts as unproved."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await engine.observe(replace(target, proves=False))
    except TimeoutError:
        return Unknown(f"no answer within {PATIENCE:.0f} s")

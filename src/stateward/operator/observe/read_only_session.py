"""How those ask a database who only look: a person's `plan`, and the CronJob that detects missing members.

They change nothing in it, also not to prove something: the operator alone does that, and only while it holds its lease.
"""

import asyncio

from msgspec.structs import replace

from stateward.engines.connection.base import Engine, Target
from stateward.planning.model.observation import Database, Unknown

PATIENCE = 10.0
"""Seconds for the database's answer."""


async def onlook(engine: Engine, target: Target) -> Database | Unknown:
    """Return what the database says when it is only asked; what was not proved is not taken to be so."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await engine.observe(replace(target, proves=False))
    except TimeoutError:
        return Unknown(f"no answer within {PATIENCE:.0f} s")

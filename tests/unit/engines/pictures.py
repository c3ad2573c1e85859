"""The state that the search driver reads in a replayed world."""

from stateward.engines import opensearch
from stateward.planning.model.observation import Database, Unit, Unknown
from tests.unit.engines import replay
from tests.unit.engines.replay import TARGET, Replay


async def seen(world: Replay, target: replay.Target = TARGET) -> Database | Unknown:
    return await opensearch.driver(world).observe(target)


async def picture(world: Replay) -> Database:
    found = await seen(world)
    assert isinstance(found, Database), found
    return found


async def why_unknown(world: Replay, target: replay.Target = TARGET) -> str:
    found = await seen(world, target)
    assert isinstance(found, Unknown), found
    return found.why


def unit(database: Database, name: str) -> Unit:
    return next(unit for unit in database.units if unit.name == name)

"""FoundationDB through an hour of random trouble: in the end it is what the spec says, and nothing was ever lost."""

import asyncio
import random
from collections.abc import Callable

import pytest

from stateward.simulation.opensearch.http import Rates
from tests.simulation.foundationdb_story import Story, pools

pytestmark = pytest.mark.simulation


class Trouble:
    """What may happen, drawn by the seed."""

    def __init__(self, story: Story, seed: int) -> None:
        self.story = story
        self.chance = random.Random(f"{seed}/trouble")  # noqa: S311 - a run is repeated by its seed
        self.lost: set[str] = set()
        self.done: list[str] = []

    async def hour(self) -> None:
        """Let things happen for an hour, two at once at most."""
        end = self.story.world.now + 3600.0
        what: list[Callable[[], None]] = [
            self.resize,
            self.resize,
            self.replace,
            self.keep,
            self.upgrade,
            self.lose_node,
            self.restore,
            self.crash,
            self.kill_operator,
            self.noise,
        ]
        while self.story.world.now < end:
            self.chance.choice(what)()
            await asyncio.sleep(self.chance.uniform(10.0, 400.0))
        self.restore()
        self.story.process.engine_rates = Rates()

    def tell(self, sentence: str) -> None:
        self.done.append(f"{self.story.world.now:.0f} {sentence}")

    def resize(self) -> None:
        wanted = (self.chance.randint(4, 7), self.chance.randint(3, 5), self.chance.randint(2, 4))
        self.tell(f"pools {wanted}")
        self.story.edit(pools=pools(*wanted))

    def replace(self) -> None:
        name = self.chance.choice(sorted(self.story.members()))
        self.tell(f"replace {name}")
        self.story.edit(members={"replace": [name], "keep": None})

    def keep(self) -> None:
        names = sorted(self.story.removals())
        if names:
            self.tell(f"keep {names}")
            self.story.edit(members={"replace": None, "keep": names})

    def upgrade(self) -> None:
        version = self.chance.choice(("7.1.57", "7.1.67"))
        self.tell(f"version {version}")
        self.story.edit(version=version)

    def lose_node(self) -> None:
        if not self.lost:
            node = self.chance.choice(self.story.world.nodes.names)
            self.tell(f"lose {node}")
            self.lost.add(node)
            self.story.world.nodes.lose(node, power=self.chance.random() < 0.5)

    def restore(self) -> None:
        for node in sorted(self.lost):
            self.tell(f"restore {node}")
            self.story.world.nodes.restore(node)
        self.lost.clear()

    def crash(self) -> None:
        runs = [run for _, run in sorted(self.story.world.kubelets.runs.items()) if run.process is not None]
        if runs:
            run = self.chance.choice(runs)
            self.tell(f"crash {run.pod.name}")
            self.story.world.kubelets.crash(run, 1, "it crashed")

    def kill_operator(self) -> None:
        self.tell("kill the operator")
        self.story.process.kill()

    def noise(self) -> None:
        self.tell("noise")
        some = self.chance.choice((0.0, 0.1, 0.3))
        self.story.process.engine_rates = Rates(error=some, lost=some, garbled=some / 2)


@pytest.mark.parametrize("seed", range(4))
async def test_an_hour_of_trouble_leaves_what_the_spec_says_and_loses_nothing(seed: int) -> None:
    with Story(seed=seed, replacement={"enabled": True, "after": "10m"}).told() as story:
        await story.begin()
        trouble = Trouble(story, seed)
        await trouble.hour()
        story.edit(pools=pools(), version="7.1.67", members=None)
        done = "\n".join(trouble.done)
        assert await story.settled(3600.0), f"{story.doing}\n{done}"
        assert len(story.members()) == 12, f"{sorted(story.members())} {story.doing}\n{done}"
        assert await story.excluded() == [], done
        assert len(story.coordinators()) == 3
        assert {p["version"] for p in (await story.processes()).values()} == {"7.1.67"}
        story.check()

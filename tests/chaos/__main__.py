"""`python -m tests.chaos`: a run on a sandbox of its own, with a report, and the history of all calls."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from sandbox import Sandbox
from stateward.kube.access.config import connect
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from tests.chaos.edits import NEW, OLD, SECURED
from tests.chaos.history import judged_again, save
from tests.chaos.report import page
from tests.chaos.run import Outcome, Run
from tests.chaos.schedule import episodes
from tests.chaos.world import NAME, World
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods, install, with_webhook

ROOT = Path(__file__).parents[2]


def main(words: Sequence[str]) -> int:
    """Run, or print what would be done; return 1 if something was broken."""
    chosen = parser().parse_args(words)
    if chosen.schedule:
        for episode, _ in zip(episodes(chosen.seed), range(chosen.schedule), strict=False):
            faults = ", ".join(f"{each.fault} at {each.at:.0f} s for {each.seconds:.0f} s" for each in episode.faults)
            print(f"{episode.number}: edit: {episode.edit} at {episode.edit_at:.0f} s; {faults or 'no fault'}")
        return 0
    place = ROOT / ".artifacts/chaos" / str(chosen.seed)
    if chosen.judge:
        verdict = judged_again(place)
        print(verdict)
        return 1 if verdict.violations else 0
    outcome = asyncio.run(played(chosen.hours, chosen.seed))
    place.mkdir(parents=True, exist_ok=True)
    save(outcome.history, outcome.final, place)
    text = page(outcome)
    (place / "report.md").write_text(text)
    print(text)
    print(f"the report and the history of all calls are in {place}")
    return 1 if outcome.violations else 0


def parser() -> argparse.ArgumentParser:
    """Return what can be said on the command line."""
    words = argparse.ArgumentParser("python -m tests.chaos", description=__doc__)
    words.add_argument("--hours", type=float, default=6.0, help="no episode begins after that time")
    words.add_argument("--seed", type=int, default=1, help="of the schedule; odd: secured, even: with upgrades")
    words.add_argument(
        "--schedule", type=int, default=0, metavar="N", help="print the first N episodes, and do nothing"
    )
    words.add_argument("--judge", action="store_true", help="judge the saved history of this seed again")
    return words


async def played(hours: float, seed: int) -> Outcome:
    """Bring a sandbox up, play a run on it, and take it down."""
    began = time.monotonic()

    def say(words: str) -> None:
        print(f"{time.monotonic() - began:8.0f} s  {words}", flush=True)

    secured = seed % 2 == 1
    with Sandbox(f"stateward-chaos-{seed}") as sandbox:
        sandbox.clear()
        sandbox.up(nodes=3)
        install(sandbox)
        for version in (SECURED,) if secured else (OLD, NEW):
            sandbox.load_image(f"opensearch:{version}")
        with with_webhook(sandbox):
            async with HttpApi(connect(kubeconfig=str(sandbox.kubeconfig_path))) as api:
                namespace = f"{NAME}-{uuid4().hex[:6]}"
                meta = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
                await api.create(kinds.NAMESPACES, meta)
                world = World(sandbox, OperatorPods(api), Clusters(api, namespace), secured)
                return await Run(world, seed, say).play(hours)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

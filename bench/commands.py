"""What the command line costs before it says anything: CPU time, and what it imports.

Each command runs several times as a process of its own; the least of all runs counts, which a busy machine changes
least. `status NAME` asks a stand-in for the API server, which has one cluster.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from bench.children import LOGS, child
from bench.clusters import fleet
from bench.clusters.many import kubeconfig_of
from bench.clusters.recording import Recording, save
from bench.table import Row
from stateward.operator.objects.caches import CLUSTERS

RUNS = 7
TIMED = 3
"""Runs with the time of each import: they take longer, so they count for nothing else."""
MOST = 5
AIM = "0.3 s"
COMMANDS = (("--help",), ("status", "--help"), ("status", fleet.name(0)), ("explain", "--help"), ("plan", "--help"))
AIMED = COMMANDS[:3]
_PROGRAM = "import sys; from stateward.cli.main import main; sys.argv[0] = 'stateward'; main()"
_HEAD = "import time:"


class Import(NamedTuple):
    """One module, and the seconds it took without those that it imports itself."""

    module: str
    seconds: float


def measure() -> list[Row]:
    """Return a row for each command."""
    file, kubeconfig = LOGS / "one.json", LOGS / "one.kubeconfig"
    save(one_cluster(), file)
    with child("clusters.replay", str(file), "1") as server:
        port = server.wait_for("ready on port", 120)
        kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(f"http://127.0.0.1:{port}")))
        return [_row(words, kubeconfig) for words in COMMANDS]


def one_cluster() -> Recording:
    """Return a cluster as an API server has it."""
    body = fleet.body(0)
    meta = {**body["metadata"], "uid": "00000000-0000", "resourceVersion": "1", "generation": 1}
    return Recording({CLUSTERS.path(): [{**body, "metadata": meta, "status": {"health": "green"}}]}, 1)


def _row(words: tuple[str, ...], kubeconfig: Path) -> Row:
    seconds = min(_cpu_seconds(words, kubeconfig) for _ in range(RUNS))
    found = fastest([*imports(_with_times(words, kubeconfig))] for _ in range(TIMED))
    shown = "stateward " + " ".join("NAME" if word == fleet.name(0) else word for word in words)
    aim, note = AIM if words in AIMED else "", f"{len(found)} modules; {most(found)}"
    return Row(f"`{shown}`: CPU time", f"{seconds:.2f} s", aim, note)


def imports(text: str) -> Iterator[Import]:
    """Yield the modules that `python -X importtime` lists."""
    for line in text.splitlines():
        if line.startswith(_HEAD):
            own, _, module = line.removeprefix(_HEAD).split("|")
            if own.strip().isdigit():
                yield Import(module.strip(), int(own) / 1e6)


def fastest(runs: Iterable[Iterable[Import]]) -> dict[str, float]:
    """Return the least seconds of each module of several runs."""
    found: dict[str, float] = {}
    for run in runs:
        for each in run:
            found[each.module] = min(each.seconds, found.get(each.module, each.seconds))
    return found


def most(found: Mapping[str, float]) -> str:
    """Return the packages that take longest, with their own modules only."""
    packages, modules = Counter[str](), Counter[str]()
    for module, seconds in found.items():
        packages[module.partition(".")[0]] += seconds  # pyright: ignore[reportArgumentType] - a Counter adds floats too
        modules[module.partition(".")[0]] += 1
    return ", ".join(
        f"{name} {seconds * 1000:.0f} ms ({modules[name]})" for name, seconds in packages.most_common(MOST)
    )


def _cpu_seconds(words: tuple[str, ...], kubeconfig: Path) -> float:
    process = subprocess.Popen(_command(words), env=_environment(kubeconfig), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"stateward {' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def _with_times(words: tuple[str, ...], kubeconfig: Path) -> str:
    done = subprocess.run(
        _command(words, "-X", "importtime"), env=_environment(kubeconfig), capture_output=True, text=True, check=True
    )
    return done.stderr


def _command(words: tuple[str, ...], *options: str) -> list[str]:
    return [sys.executable, *options, "-c", _PROGRAM, *words]


def _environment(kubeconfig: Path) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(kubeconfig.absolute())}

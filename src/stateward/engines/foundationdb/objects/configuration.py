"""The configuration files of a member's processes."""

from stateward.engines.foundationdb.spec import security
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.pools import ResolvedPool


def config_files(pool: ResolvedPool, build: Build) -> dict[str, str]:
    """Return the files by name: the number of processes, their arguments (one per line), and the program version."""
    knobs = (f"--knob_{k}={v}" for k, v in pool.knobs.items())
    arguments = ["--class", pool.spec.process_class.value, *security.arguments(pool.cluster), *knobs]
    return {
        "arguments": "".join(f"{word}\n" for word in arguments),
        "processes": f"{pool.spec.processes_per_member}\n",
        "program": f"{build.program(pool.cluster.spec.version)}\n",
    }

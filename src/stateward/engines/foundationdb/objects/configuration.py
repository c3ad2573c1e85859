"""The files that a member's processes are started from."""

from stateward.engines.foundationdb.spec import security
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.pools import ResolvedPool


def config_files(pool: ResolvedPool, build: Build) -> dict[str, str]:
    """Return the files by name: how many processes, the arguments of each, one to a line, and of which version."""
    knobs = (f"--knob_{k}={v}" for k, v in pool.knobs.items())
    arguments = ["--class", pool.spec.process_class.value, *security.arguments(pool.cluster), *knobs]
    return {
        "arguments": "".join(f"{word}\n" for word in arguments),
        "processes": f"{pool.spec.processes_per_member}\n",
        "program": f"{build.program(pool.cluster.spec.version)}\n",
    }

"""The files that a member's processes are started from."""

from stateward.engines.foundationdb.pools import ResolvedPool


def config_files(pool: ResolvedPool) -> dict[str, str]:
    """Return the files by name: how many processes, and the arguments of each, one to a line."""
    arguments = ["--class", pool.spec.process_class.value, *(f"--knob_{k}={v}" for k, v in pool.knobs.items())]
    return {"arguments": "".join(f"{word}\n" for word in arguments), "processes": f"{pool.spec.processes_per_member}\n"}

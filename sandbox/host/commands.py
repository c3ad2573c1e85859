"""Running a program to its end, and saying in one line why it failed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.errors import CommandError


def run(
    argv: Sequence[str | Path],
    *,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    timeout: float = 600,
    inherited: Sequence[int] = (),
) -> str:
    """Run a program and return what it printed; raise CommandError if it fails or takes `timeout` seconds.

    `inherited` are the descriptors that it is given beside the usual three.
    """
    shown = " ".join(str(word) for word in argv)[:200]
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
            env=None if environment is None else dict(environment),
            cwd=directory,
            timeout=timeout,
            pass_fds=tuple(inherited),
        )
    except FileNotFoundError as missing:
        raise CommandError(f"the program {argv[0]} is missing; install it", str(missing)) from missing
    except subprocess.TimeoutExpired as late:
        raise CommandError(f"'{shown}' took longer than {timeout:.0f} s", str(late)) from late
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else "it said nothing"
        raise CommandError(f"'{shown}' failed with {done.returncode}: {last}", said)
    return done.stdout.decode(errors="replace")

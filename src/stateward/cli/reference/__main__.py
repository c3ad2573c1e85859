"""Write docs/reference/cli.md from the commands, or check that it is up to date.

Run as `python -m stateward.cli.reference [--check]` in the root of the repository.
"""

import sys
from pathlib import Path

from stateward.cli.reference.page import page
from stateward.cli.shared.echo import echo

PATH = Path("docs/reference/cli.md")


def main(arguments: list[str]) -> int:
    """Write the page if it is outdated, or say that it is and return 1."""
    wanted = page()
    if PATH.is_file() and PATH.read_text(encoding="utf-8") == wanted:
        return 0
    if "--check" in arguments:
        echo(f"{PATH} is not what the commands say: run `make docs`")
        return 1
    PATH.write_text(wanted, encoding="utf-8")
    echo(f"wrote {PATH}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

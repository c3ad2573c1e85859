"""Programs that are built from modules of Go: each is pinned by a folder of the sandbox, and has a name of its own."""

import re

import pytest

from sandbox.toolchain import programs
from sandbox.toolchain.programs import Program

PROGRAMS = [value for value in vars(programs).values() if isinstance(value, Program)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_module_of_a_program_is_in_the_sandbox(program: Program) -> None:
    required = re.findall(r"^(?:module|require|\t)\s*(\S+)", (program.module / "go.mod").read_text(), re.MULTILINE)
    assert any(program.package in {".", name} or program.package.startswith(f"{name}/") for name in required)


def test_no_two_programs_share_the_place_of_their_builds() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) > 0

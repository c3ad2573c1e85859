"""Makes each part of a template that is executed pay for itself.

The engine limits loops, calls of functions and the depth of named templates. It does not limit how often named
templates are called, or what is between the calls of functions. So a template of forty lines, each of which calls the
next one twice, would never end, and neither would a long body within a loop.
"""

from collections.abc import Iterator
from typing import Any

import gotpl
from gotpl.compile.instructions import (
    BranchTarget,
    CallTarget,
    CompiledPipeline,
    Instruction,
    OpCode,
    Program,
    RangeTarget,
)

from stateward.packages.format.work_budget import Fuel

_LARGER = {OpCode.ITERATE: 5, OpCode.CALL_TEMPLATE: 5}
"""Parts that cost more than one to execute."""


def make_pay(template: gotpl.Template, fuel: Fuel) -> None:
    """Let all parts of a compiled template pay from this fuel whenever they are executed."""
    waiting, done = [*_programs(template)], set[int]()
    while waiting:
        program = waiting.pop()
        if id(program) not in done:
            done.add(id(program))
            waiting += program.definitions
            object.__setattr__(program, "instructions", _Paying(program.instructions, fuel))


def _programs(template: Any) -> tuple[Program, Program]:
    """Return both forms of a compiled template: the engine executes one of them, and they share the named templates."""
    return template._program, template._linked_program.program  # noqa: SLF001 - gotpl is pinned


class _Paying:
    """The instructions of a program; the engine takes one to execute it."""

    def __init__(self, instructions: tuple[Instruction, ...], fuel: Fuel) -> None:
        self._instructions = instructions
        self._costs = [_cost(each) for each in instructions]
        self._fuel = fuel

    def __len__(self) -> int:
        return len(self._instructions)

    def __getitem__(self, at: int) -> Instruction:
        found = self._instructions[at]
        self._fuel.execute(self._costs[at], ranges=found.opcode is OpCode.ITERATE)
        return found


def _cost(instruction: Instruction) -> int:
    """Return the cost of an instruction: with each value and function that it names."""
    return _LARGER.get(instruction.opcode, 1) + sum(_values(instruction.argument))


def _values(argument: Any) -> Iterator[int]:
    waiting: list[CompiledPipeline] = []
    match argument:
        case CompiledPipeline():
            waiting.append(argument)
        case BranchTarget() | RangeTarget() | CallTarget() if argument.pipeline is not None:
            waiting.append(argument.pipeline)
        case _:
            pass
    while waiting:
        for command in waiting.pop().commands:
            for value in command.arguments:
                yield 1 + len(value.fields)
                if value.pipeline is not None:
                    waiting.append(value.pipeline)

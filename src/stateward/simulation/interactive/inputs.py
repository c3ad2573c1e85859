"""The inputs of a person to a world, and their record: with the seed, they repeat the run exactly."""

from typing import Any

import msgspec
from msgspec import Struct

from stateward.simulation.world.engine_products import DEFAULT


class LoseNode(Struct, frozen=True, tag=True):
    """A Kubernetes node loses its power."""

    node: str


class RestoreNode(Struct, frozen=True, tag=True):
    """A lost node is powered on again."""

    node: str


class Patch(Struct, frozen=True, tag=True):
    """A user patches an object. `kind` is the server's name of the kind, `form` the content type of the patch."""

    kind: str
    namespace: str
    name: str
    form: str
    body: Any


Input = LoseNode | RestoreNode | Patch


class TimedInput(Struct, frozen=True):
    """An input and its virtual time in seconds since the start of the world."""

    at: float
    what: Input


class Recording(Struct, frozen=True):
    """What repeats a run with the same code: the engine, the seed, the inputs, and when it was left."""

    engine: str = DEFAULT.engine
    seed: int = 0
    inputs: tuple[TimedInput, ...] = ()
    end: float = 0.0
    """Virtual time of the last look at it, in seconds."""


def encode(recording: Recording) -> bytes:
    """Return a recording as a readable JSON document."""
    return msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n"


def decode(document: bytes) -> Recording:
    """Return the recording of a document; raise msgspec.DecodeError if it is none."""
    return msgspec.json.decode(document, type=Recording)

"""What is known of the values of a template before it is rendered: which names they have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stateward.api.values.problem import first_of
from stateward.packages.format.parameters import meant
from stateward.packages.format.records import Package, ParameterType
from stateward.packages.rendering.pipes import pipe_names
from stateward.packages.rendering.templates import Variables

MOST_SHOWN = 8
"""Names in one sentence."""
DEEPEST = 4
"""Objects within each other whose names are followed."""


@dataclass(frozen=True, slots=True)
class Anything:
    """A value of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value at all, as in a template that is called without one."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A value without names, such as text or a list; `called` says what it is."""

    called: str


@dataclass(frozen=True, slots=True)
class Names:
    """An object whose names are all known; `kind` is what a name of it is."""

    kind: str
    members: tuple[tuple[str, "Shape"], ...]

    def find(self, name: str) -> "Shape | None":
        """Return the value under a name; None if there is no such name."""
        return next((shape for known, shape in self.members if known == name), None)

    def lacks(self, name: str) -> str:
        """Return the sentence about a name that the object does not have."""
        known = dict(self.members)
        close = meant(name, known)
        hint = f"did you mean {close}?" if close else f"there are {_listed(known)}"
        return f"there is no {self.kind} {name!r}; {hint}"


Shape = Anything | Nothing | Plain | Names
ANYTHING = Anything()
NOTHING = Nothing()


def root_of(package: Package) -> Names:
    """Return what each template of a package knows."""
    parameters = ((p.name, _of_type(p.name, p.type)) for p in package.parameters.values())
    pipes = ((key, Plain(f"the name of the pipe {key}")) for key in pipe_names(package, ""))
    inner: Mapping[str, Shape] = {"Params": Names("parameter", tuple(parameters)), "Pipes": Names("pipe", tuple(pipes))}
    names = Variables("", "", "", "", "", {}).seen()
    return Names("value", tuple((name, inner.get(name, Plain(f".{name}, which is text"))) for name in names))


def _of_type(name: str, kind: ParameterType) -> Shape:
    if kind is ParameterType.MAP:
        return ANYTHING
    return Plain(f"the parameter {name}, which is {'a list' if kind is ParameterType.ARRAY else 'text'}")


def made_of(members: Iterable[tuple[str, Shape]]) -> Shape:
    """Return an object that a template makes of these names."""
    made = Names("key", tuple(dict(members).items()))
    return made if _depth(made) <= DEEPEST else ANYTHING


def _depth(shape: Shape) -> int:
    if not isinstance(shape, Names) or shape.kind != "key":
        return 0
    return 1 + max((_depth(inner) for _, inner in shape.members), default=0)


def _listed(known: Iterable[str]) -> str:
    return first_of(sorted(known), MOST_SHOWN) or "none"

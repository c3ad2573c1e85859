"""YAML as Kubernetes' tools read it: only values that JSON can express.

`yaml_scalars` has which text is which value, and `yaml_loader` the limits.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.nodes import Node

from stateward.api import yaml_writer
from stateward.packages.format.yaml_loader import DEEPEST, MOST_NODES, EqualKeysError, Loader, bound
from stateward.packages.format.yaml_scalars import TAG

__all__ = ["DEEPEST", "MOST_NODES", "NotYaml", "document", "documents", "nodes", "to_yaml", "written"]

_QUOTED = re.compile(r"(?P<own>'<[^']*>'|'\W')|'[^']*'|\"[^\"]*\"")
"""Parts of the text that the parser repeats; its own names, such as '<block end>', stay, and single characters such as
':'.
"""
HIDDEN = "..."


class NotYaml(ValueError):  # noqa: N818 - says what the text is not
    """The text is not YAML; `line` counts from 1, 0 if it is unknown. `public` contains nothing of the text.

    `twice` is the key that an object has twice, if that is what is wrong.
    """

    def __init__(self, message: str, line: int = 0, public: str = "", twice: str = "") -> None:
        super().__init__(message)
        self.twice = twice
        self.message = message
        self.line = line
        self.public = public or _QUOTED.sub(lambda found: found["own"] or HIDDEN, message)


def nodes(text: str, most: int = MOST_NODES) -> int:
    """Return how many nodes a YAML text has with its aliases written out, of at most so many; raises NotYaml."""
    with _said(text):
        return bound(text, most)


def documents(text: str, most: int = MOST_NODES) -> list[Any]:
    """Return the documents of a YAML text of at most so many nodes; raises NotYaml."""
    with _said(text):
        bound(text, most)
        return list(yaml.load_all(text, Loader))


@contextmanager
def _said(text: str) -> Generator[None]:
    """Say what is wrong with a text, in words and with a line of it."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # An error at the end is reported for a line after the last one, which does not exist in the text.
        line = min(mark.line + 1, len(text.splitlines())) if mark else 0
        twice = error.key if isinstance(error, EqualKeysError) else ""
        raise NotYaml(error.problem or str(error), line, twice=twice) from error
    except RecursionError as error:
        raise NotYaml("is nested too deeply") from error
    except ValueError as error:
        raise NotYaml(" ".join(str(error).split()), public="a value that cannot be read") from error
    except yaml.YAMLError as error:
        raise NotYaml(" ".join(str(error).split())) from error


def document(text: str, most: int = MOST_NODES) -> Any:
    """Return the only document of a YAML text of at most so many nodes; raises NotYaml."""
    found = documents(text, most)
    if len(found) > 1:
        raise NotYaml(f"holds {len(found)} documents instead of one")
    return found[0] if found else None


def written(text: str) -> Any:
    """Return a document in which every value is the text as written, without nulls; raises NotYaml.

    An unquoted version (`5.10`) stays text, although it looks like a number.
    """
    document(text)
    with _said(text):
        return _written(yaml.compose(text, Loader))


def _written(node: Node | None) -> Any:
    if node is None or node.tag == f"{TAG}null":
        return None
    if isinstance(node, yaml.MappingNode):
        Loader("").flatten_mapping(node)
        members = ((key.value, _written(value)) for key, value in node.value)
        return {key: value for key, value in members if value is not None}
    if isinstance(node, yaml.SequenceNode):
        return [_written(item) for item in node.value]
    return node.value


def to_yaml(value: object) -> str:
    """Return a value as YAML, keys in order."""
    return yaml_writer.to_yaml(value, sort_keys=True, width=yaml_writer.NO_FOLD)

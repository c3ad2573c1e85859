"""Writes YAML that each reader takes for the values that were written.

Readers differ in which text without quotes is no text. YAML 1.1, which PyYAML and many others follow, has dates, times
in base 60 (`12:30:00`), underscores in numbers (`1_000`), `=` and `<<`. The tools of Kubernetes read the single letters
`y` and `n` as booleans, and `1e3` and `0o7` as numbers; PyYAML does not, and so writes them without quotes. Here text
has quotes if any of them would read something else.
"""

import re
from collections.abc import Iterable
from typing import Any

import yaml

from stateward.api.values.problem import printable

WIDTH = 120
"""Characters of a line, where a text can be folded."""
NO_FOLD = 10**9
"""A width that folds no text."""
_TAG = "tag:yaml.org,2002:"
_FLAG = re.compile(r"^[yYnN]$")
_NUMBER = re.compile(
    r"^[-+]?[_.]*[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE](?:_*[-+])?[0-9_]+)?$"  # 1e3, 1.5, -_1: Go leaves all underscores out
    r"|^[-+]?_*0_*[xXoObB][0-9a-fA-F_]+$"
)
_DATE = re.compile(r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?$")
_LAYOUT = "\n\t"
"""The only characters without a glyph that are written as they are.

Readers take some of the others for the end of a line or leave them out, and a terminal obeys some of them.
"""


class _Writer(yaml.SafeDumper):
    """Writes out what occurs twice instead of referring to it: not all readers follow references."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def _text(writer: Any, text: str) -> yaml.ScalarNode:
    return writer.represent_scalar(f"{_TAG}str", text, style=None if printable(text, _LAYOUT) == text else '"')


_RULES: Any = _Writer
_RULES.add_representer(str, _text)
# In addition to those of PyYAML, which are asked first: they change nothing but the quotes of texts.
_RULES.add_implicit_resolver(f"{_TAG}bool", _FLAG, list("yYnN"))
_RULES.add_implicit_resolver(f"{_TAG}float", _NUMBER, list("-+._0123456789"))
_RULES.add_implicit_resolver(f"{_TAG}timestamp", _DATE, list("0123456789"))


def to_yaml(value: object, *, sort_keys: bool = False, width: int = WIDTH) -> str:
    """Return a value of JSON as YAML that ends with a line break. Raise YAMLError for other values."""
    text = yaml.dump(
        value, Dumper=_Writer, default_flow_style=False, sort_keys=sort_keys, allow_unicode=True, width=width
    )
    # PyYAML leaves some characters as they are also between quotes, where the escapes of Python are those of YAML.
    text = printable(text, _LAYOUT)
    # PyYAML ends a document that is only a text or a number so; nothing can follow it then.
    return text if isinstance(value, dict | list | tuple) else text.removesuffix("...\n")


def to_yaml_documents(values: Iterable[object], *, width: int = WIDTH) -> str:
    """Return objects as a stream of YAML documents. Raise YAMLError for values that JSON has not."""
    return "---\n".join(to_yaml(value, width=width) for value in values)

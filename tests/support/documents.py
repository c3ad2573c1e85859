"""Reads streams of YAML with the parser of libyaml: those of the chart are large, and PyYAML's own needs seconds."""

from typing import Any

import yaml


def documents(text: str) -> list[Any]:
    """Return the documents of a stream that are not empty."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]

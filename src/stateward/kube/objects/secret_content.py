"""The content of a Secret as text."""

import base64
from typing import Any


def text_content(secret: dict[str, Any]) -> dict[str, str]:
    """Return the content of a Secret as text, by key; what is no text counts as not there."""
    found: dict[str, str] = {}
    data: dict[str, str] = secret.get("data") or {}
    for name, value in data.items():
        try:
            found[name] = base64.b64decode(value, validate=True).decode()
        except ValueError:
            continue
    return found


def encoded(texts: dict[str, str]) -> dict[str, str]:
    """Return texts as a Secret has them."""
    return {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}

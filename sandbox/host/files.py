"""Writes files atomically, and only if their content changes."""

from pathlib import Path


def write_if_changed(path: Path, text: str) -> bool:
    """Write a file in one piece unless it holds the text already. Return whether it was written.

    Kube-proxy ends itself when its configuration is written, changed or not.
    """
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
    return True

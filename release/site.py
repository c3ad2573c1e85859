"""Hooks of the docs site (`mkdocs.yml`): pages that live outside of docs/, and links to them.

The README is the first page. The site needs nothing from the internet, neither when it is built nor when it is read.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "LICENSE": "license.md",
    "examples/simulation/job.yaml": "examples/job.yaml",
}
"""Files outside of docs/, and their place in the site."""
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that live outside of docs/."""
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = f"# License\n\n```text\n{text}```\n" if source == "LICENSE" else text
        content = relinked(text, Path(source).parent) if place.endswith(".md") else text
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: object, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs' hook
    """Return a page of docs/ with its links to files outside of docs/ changed to their place in the site."""
    place = Path(page.file.src_uri)  # type: ignore[attr-defined]
    return markdown if str(place) in OUTSIDE.values() else relinked(markdown, Path("docs") / place.parent)


def relinked(text: str, folder: Path) -> str:
    """Return a text whose links, relative to a folder of the checkout, lead to the same pages in the site."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / folder / match[1]).resolve().relative_to(ROOT)
        place = OUTSIDE.get(str(target)) or str(target.relative_to("docs") if target.is_relative_to("docs") else target)
        depth = len(folder.relative_to("docs").parts) if folder.is_relative_to("docs") else 0
        return f"]({'../' * depth}{place}{match[2] or ''})"

    return _LINK.sub(link, text)

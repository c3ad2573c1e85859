"""The check of the English of pages and docstrings."""

from pathlib import Path

import pytest

from release import prose


@pytest.mark.parametrize(
    "text",
    [
        "Who does not serve is stopped.",
        "It waits. Who is away counts.",
        "Nobody loses a copy.",
        "The pod is made anew.",
        "It makes the pods anew.",
        "That goes on for ever.",
        "It replaces a member that is none.",
        "The operator has not heard of it.",
        "A member is let go.",
    ],
)
def test_a_term_that_is_not_accepted_is_found_with_its_line_and_what_to_write(text: str) -> None:
    (line, words, advice), *_ = prose.findings(f"# Title\n\n{text}\n")
    assert line == 3
    assert words.lower() in text.lower()
    assert advice


def test_code_and_links_are_not_checked() -> None:
    text = "```\nnobody\n```\nrun `id nobody`, [as that user](https://example.org/nobody)\n"
    assert list(prose.findings(text)) == []


def test_a_page_that_is_not_accepted_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("The operator waits.\n")
    assert prose.main([]) == 0
    Path("README.md").write_text("The operator waits.\nNobody knows.\n")
    assert prose.main([]) == 1
    assert capsys.readouterr().out.startswith('README.md:2: "Nobody": write ')


@pytest.mark.parametrize("tree", ["src", "tests", "sandbox", "bench", "demo", "release"])
def test_docstrings_of_each_tree_are_checked_and_its_messages_are_not(
    tree: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    module = tmp_path / tree / "one.py"
    module.parent.mkdir()
    module.write_text('"""A module."""\n\nTEXT = (lambda: "nobody")()\n"""Words that\nnobody reads."""\n')
    assert prose.main([]) == 1
    assert capsys.readouterr().out.startswith(f'{tree}/one.py:5: "nobody": write ')

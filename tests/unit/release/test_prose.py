"""The check of the English that people read."""

from pathlib import Path

import pytest

from release import prose

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "text",
    [
        "Who does not serve is stopped.",
        "It waits. Who is away counts.",
        "Nobody loses a copy.",
        "The pod is made anew.",
        "It makes the pods anew.",
        "That goes on for ever.",
    ],
)
def test_a_term_that_is_not_accepted_is_found_with_its_line_and_what_to_write(text: str) -> None:
    (line, words, advice), *_ = prose.findings(f"# Title\n\n{text}\n")
    assert line == 3
    assert words.lower() in text.lower()
    assert advice


def test_code_and_links_are_not_looked_at() -> None:
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


def test_a_page_stays_on_the_list_of_exceptions_only_as_long_as_it_needs_to() -> None:
    clean = [name for name in prose.LATER if not list(prose.findings((ROOT / name).read_text(encoding="utf-8")))]
    assert clean == []

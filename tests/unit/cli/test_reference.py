"""The reference page of the command line."""

import re

from stateward.cli.reference.page import described, page


def test_parts_that_help_does_not_fold_are_code() -> None:
    text = "First line.\n\n    For a shell:\n\n    \b\n    one | two\n    three\n\n    Last."
    assert list(described(text)) == [
        "First line.",
        "",
        "For a shell:",
        "",
        "```sh",
        "one | two",
        "three",
        "```",
        "",
        "Last.",
    ]


def test_no_character_of_the_page_is_one_for_terminals() -> None:
    assert re.findall(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f]|\\b", page()) == []

"""The map of the planner in its docstring names every file that there is, and none that is not."""

import re
from pathlib import Path

from stateward import planning


def test_the_map_names_exactly_the_files_that_there_are() -> None:
    text = planning.__doc__ or ""
    rows = (line for line in text.splitlines() if line.startswith("    "))
    # Two columns, each a name in twelve characters and its question.
    in_table = {name for row in rows for name in (row[4:16].strip(), row[61:73].strip())}
    in_prose = set(re.findall(r"`(\w+)`", text))
    files = {file.stem for file in Path(planning.__file__).parent.glob("*.py")} - {"__init__"}
    assert in_table | in_prose == files

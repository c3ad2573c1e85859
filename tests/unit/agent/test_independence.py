"""The agent is the standard library and nothing else: it runs where nothing of Stateward is installed."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import stateward
from stateward.agent import VERSION

PACKAGE = Path(stateward.__file__).parent / "agent"
_PROBE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import stateward.agent.agent, stateward.agent.commandline, stateward.agent.process.transplant
print(json.dumps(sorted(sys.modules)))
"""


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_no_file_imports_more() -> None:
    for path in PACKAGE.rglob("*.py"):
        for name in _imported(path):
            known = name.split(".")[0] in sys.stdlib_module_names or name.startswith("stateward.agent")
            assert known or (path.name, name) == ("transplant.py", "stateward"), f"{path.name} imports {name}"


def test_nothing_more_is_loaded() -> None:
    child = [sys.executable, "-I", "-S", "-c", _PROBE, str(PACKAGE.parents[1])]
    loaded = json.loads(subprocess.run(child, check=True, capture_output=True).stdout)
    assert [name for name in loaded if name.startswith("stateward") and not name.startswith("stateward.agent")] == [
        "stateward"
    ]


def test_what_costs_much_memory_is_not_loaded_to_run() -> None:
    child = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        _PROBE.replace(", stateward.agent.process.transplant", ""),
        str(PACKAGE.parents[1]),
    ]
    loaded = set(json.loads(subprocess.run(child, check=True, capture_output=True).stdout))
    assert not loaded & {
        "argparse",
        "asyncio",
        "dataclasses",
        "inspect",
        "shutil",
        "subprocess",
        "http",
        "email",
        "logging",
    }


def test_the_agent_has_the_version_of_its_release() -> None:
    assert stateward.__version__ == VERSION

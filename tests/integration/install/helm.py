"""The real Helm and kubectl, on the control plane of the tests."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[3] / "charts/stateward"


@dataclass(frozen=True)
class Tools:
    """Both programs, with a place for their files."""

    helm: Path
    kubectl: Path
    kubeconfig: Path
    scratch: Path

    def run(self, program: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program, and return what it said and how it ended."""
        home = {f"HELM_{part}_HOME": str(self.scratch / part.lower()) for part in ("CACHE", "CONFIG", "DATA")}
        env = {**os.environ, **home, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(
            [program, *words], input=stdin, env=env, capture_output=True, text=True, check=False, timeout=300
        )

    def said(self, program: Path, *words: str, stdin: str = "") -> str:
        """Return what a program prints; fails with its errors."""
        done = self.run(program, *words, stdin=stdin)
        assert done.returncode == 0, f"{program.name} {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def values(self, given: dict[str, Any]) -> str:
        """Return a file with values, as an argument of Helm."""
        file = self.scratch / "values.yaml"
        file.write_text(yaml.safe_dump(given))
        return f"--values={file}"

    def read(self, *words: str) -> Any:
        """Return what the API server has."""
        return json.loads(self.said(self.kubectl, "get", *words, "-o", "json"))

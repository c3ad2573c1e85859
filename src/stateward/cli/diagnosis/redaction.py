"""Takes secrets out of what a bug report contains; pure.

Three nets, one behind the other. Fields that may hold a secret are replaced by their place in an object: data of
Secrets and ConfigMaps, environment, commands, headers, settings, foreign annotations. Each value that was replaced
there, and each value of a Secret that the user may read, is then replaced wherever else it occurs, such as in a log.
Last, what looks like a secret is replaced: private keys, tokens, passwords in URLs and in assignments.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.secret_forms import forms_of
from stateward.cli.diagnosis.known_values import KnownValues

GONE = "[REDACTED]"
SHORTEST, LONGEST = 6, 4096
"""Characters of a value that is replaced elsewhere too: a shorter one would take ordinary words with it."""

PATTERNS = (
    (re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL), GONE),
    (re.compile(r"\beyJ[\w-]{6,}(?:\.[\w-]+)*"), GONE),
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"), GONE),
    (re.compile(r"(?<![\w.-])[\w.-]++:[\w.-]++@(?=[\d\[])"), f"{GONE}@"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), GONE),
    (
        re.compile(r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|apikey)\s+)?[^\s\"',;]+"),
        rf"\1{GONE}",
    ),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{8,}"), rf"\1\2{GONE}"),
    (
        re.compile(
            r"(?i)((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?"
            r"(?:[_-]?(?:key|id|value))?[\"']?\s*[:=]\s*[\"']?)[^\s\"',;}{\[\]]+"
        ),
        rf"\1{GONE}",
    ),
)
"""What looks like a secret, and what is written in its place. The fourth is FoundationDB's cluster file.

None is tried again at each character of a long word, because others choose how long texts are. So what begins as a
token is one, also without the dot that a token has.
"""

NAMED_SO = re.compile(r"(?i)(passw(or)?d|passphrase|secret|token|credential|api_?key|access_?key|private_?key)")
REFERENCES = re.compile(r"(?i)(name|ref|key|selector|path|mode|type|policy|seconds|version)s?$")
"""Ends of names of fields that refer to a secret and do not hold it, such as `adminSecretName`."""

WHOLE = frozenset({"env", "command", "args", "httpHeaders", "config", "settings", "volumeAttributes", "options"})
"""Fields whose texts are all replaced, except for names and references to other objects."""
KEPT_WITHIN = frozenset({"name", "valueFrom"})
"""Fields that are kept there: names of variables and headers, and references."""
KEPT_PREFIXES = (
    "stateward.dev/",
    "app.kubernetes.io/",
    "kubernetes.io/",
    "topology.kubernetes.io/",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "apps.kubernetes.io/",
)
KEPT_LABELS = frozenset(
    {"controller-revision-hash", "statefulset.kubernetes.io/pod-name", "node.kubernetes.io/instance-type"}
)
SIZED = frozenset({"Secret", "ConfigMap"})


class Redactor:
    """Replaces secrets; what it has learned in one part it replaces in all later ones."""

    def __init__(self, public: Iterable[str] = ()) -> None:
        self._public = frozenset(public)
        """Values that are never replaced: names of members would make the report useless."""
        self._learned = KnownValues(SHORTEST)
        self.count = 0
        """How many places were replaced."""

    def learn(self, value: str) -> None:
        """Remember a value, so that it is replaced wherever it occurs, also encoded."""
        for text in {value, value.strip()}:
            if not SHORTEST <= len(text) <= LONGEST or text in self._public or text.isdigit():
                continue
            self._learned.add(forms_of(text))

    def text(self, text: str) -> str:
        """Return a text without what was learned, and without what looks like a secret."""
        text, count = self._learned.replaced(text, GONE)
        self.count += count
        for pattern, by in PATTERNS:
            text, count = pattern.subn(by, text)
            self.count += count
        return text

    def secret(self, body: Json) -> None:
        """Remember the values of a Secret, which is itself not a part of the report."""
        for value in _texts(body.get("data")):
            try:
                self.learn(base64.b64decode(value, validate=True).decode())
            except ValueError:
                self.learn(value)
        for value in _texts(body.get("stringData")):
            self.learn(value)

    def object(self, body: Json) -> Json:
        """Return an object without the fields that may hold a secret; their values are learned."""
        found = dict(body)
        if body.get("kind") in SIZED:
            if body["kind"] == "Secret":
                self.secret(body)
            for field in ("data", "stringData", "binaryData"):
                if isinstance(body.get(field), dict):
                    found[field] = {name: self._sized(value) for name, value in body[field].items()}
        return self._mapping(found)

    def shown(self, value: Any) -> Any:
        """Return a document with each of its texts as `text` returns it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(name)): self.shown(each) for name, each in cast("Json", value).items()}
        if isinstance(value, list | tuple):
            return [self.shown(each) for each in cast("list[Any]", value)]
        return value

    def _sized(self, value: Any) -> str:
        self.count += 1
        return f"{GONE} ({len(value) if isinstance(value, str) else 0} characters)"

    def _mapping(self, body: Mapping[str, Any]) -> Json:
        found: Json = {}
        for name, value in body.items():
            if name == "managedFields":
                continue
            if name in ("annotations", "labels") and isinstance(value, dict):
                found[name] = self._marks(cast("Json", value))
            elif name in WHOLE or (isinstance(value, str) and NAMED_SO.search(name) and not REFERENCES.search(name)):
                found[name] = self._hidden(value)
            else:
                found[name] = self._kept(value)
        return found

    def _kept(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(cast("Json", value))
        if isinstance(value, list):
            return [self._kept(each) for each in cast("list[Any]", value)]
        return value

    def _marks(self, marks: Json) -> Json:
        """Return labels or annotations: those that Kubernetes and Stateward write, and the names of the others."""
        kept = {name for name in marks if name.startswith(KEPT_PREFIXES) or name in KEPT_LABELS}
        # They are not learned: a label such as `team: search` would take the word out of every sentence.
        self.count += len(marks) - len(kept)
        return {name: value if name in kept else GONE for name, value in marks.items()}

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            self.learn(value)
            self.count += 1
            return GONE
        if isinstance(value, dict):
            items = cast("Json", value).items()
            return {name: self._kept(each) if name in KEPT_WITHIN else self._hidden(each) for name, each in items}
        if isinstance(value, list):
            return [self._hidden(each) for each in cast("list[Any]", value)]
        return value


def _texts(data: Any) -> list[str]:
    values = cast("Json", data).values() if isinstance(data, dict) else ()
    return [value for value in values if isinstance(value, str)]

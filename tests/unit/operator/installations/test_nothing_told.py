"""The status of a failed installation gives the reason, and no rendered content or parameter value."""

import json
from typing import Any

import pytest

from stateward.kube.objects.errors import BadRequest, FieldCause, Invalid, Status, StatusDetails
from stateward.operator.installations.objects.refusal_text import public
from stateward.simulation.apiserver.store import Stored
from tests.unit.operator.installations.execution.test_tasks import package
from tests.unit.operator.installations.world import World

MARK = "sup3r-s3cret"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n"
PARAMETERS = """\
parameters:
- {name: WORD, default: word}
- {name: COUNT, type: integer, default: 1}
- {name: FIXED, default: '', immutable: true}
- {name: SWITCH, default: 'true'}
"""


@pytest.fixture
async def world() -> World:
    return World()


def with_template(text: str, task: dict[str, Any] | None = None) -> dict[str, bytes]:
    """Return a package that renders one template with the parameters above."""
    tasks: list[Any] = [task or {"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}]
    return {**package(tasks, {"deploy": ["config"]}, config=text), "params.yaml": PARAMETERS.encode()}


def told(world: World) -> str:
    """Return everything that is said of the installation and of what it does, in its status and in events."""
    status = world.status()
    run = status.get("run") or {}
    said = [status.get("activity"), status.get("conditions"), {**run, "target": None}]
    said += [{**past, "target": None} for past in status.get("history", [])]
    events: list[Stored] = [each for each in world.store.everything() if "event" in each.kind]
    return json.dumps([*said, *(each.doc for each in events)])


async def failed(world: World, **values: object) -> str:
    """Return the messages of an installation that needs manual intervention."""
    world.install("other", **values)
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("status") == "True")
        await world.until(lambda: any("event" in each.kind for each in world.store.everything()))
    return told(world)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (HEAD + "data: {a: [{{ .Params.WORD }}\n  b", "did not find expected ',' or ']', in line 5 of the result"),
        (HEAD + "data: {a: *{{ .Params.WORD }}}", "undefined alias, in line 4 of the result"),
        (HEAD + "data: {a: !{{ .Params.WORD }} b}", "does not render to YAML:"),
        (HEAD + 'data: {a: "\\{{ .Params.WORD }}"}', "does not render to YAML:"),
        ("{{ .Params.WORD }}", "document 1 of the result is not an object"),
        ("[{{ .Params.WORD }}]", "document 1 of the result is not an object"),
        (HEAD + 'data: {a: "{{ fail .Params.WORD }}"}', "function 'fail' failed with the given values"),
        (HEAD + 'data: {a: "{{ if .Params.WORD }}{{ fail "too few of them" }}{{ end }}"}', "too few of them"),
        (HEAD + "data: {a: {{ (fromJson `{}`).NONE }}}", "there is no 'NONE'"),
        (HEAD + "data: {a: {{ repeat 99999999 .Params.WORD }}}", "would produce or read"),
        (HEAD + "data: {a: {{ index .Params.WORD 99 }}}", "function 'index' failed"),
        (HEAD + "data: {a: {{ toDate .Params.WORD .Params.WORD }}}", "config.yaml"),
        (HEAD + "data: {a: {{ (list .Params.WORD | first).More }}}", "config.yaml"),
        (HEAD + "data: {a: {{ mustFromJson .Params.WORD }}}", "config.yaml"),
        (HEAD + "data: {a: {{ mustRegexMatch (print .Params.WORD `(`) `b` }}}", "config.yaml"),
        ("apiVersion: v1\nmetadata: {name: {{ .Params.WORD }}}", "has no kind"),
    ],
)
async def test_a_template_that_fails_is_named_with_why_and_its_result_is_not_shown(
    world: World, template: str, why: str
) -> None:
    chosen = f'{{{{ if ne .Params.WORD "word" }}}}{template}{{{{ else }}}}{HEAD}{{{{ end }}}}'
    world.package("other", with_template(chosen))
    said = await failed(world, WORD=MARK)
    assert "templates/config.yaml" in world.status()["run"]["message"]
    assert why in said
    assert MARK not in said


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"COUNT": MARK}, "COUNT: must be a whole number"),
        ({"OTHER": MARK}, "OTHER: is not a parameter"),
        ({"WORD": {"a": MARK}}, "WORD: must be text"),
    ],
)
async def test_a_value_that_is_not_accepted_is_named_by_its_parameter(
    world: World, values: dict[str, object], why: str
) -> None:
    world.package("other", with_template(HEAD))
    said = await failed(world, **values)
    assert why in said
    assert MARK not in said


async def test_neither_the_value_that_cannot_change_nor_the_one_before_it_is_shown(world: World) -> None:
    world.package("other", with_template(HEAD))
    world.install("other", FIXED=MARK)
    async with world.operator():
        await world.until(world.ready)
    said = await failed(world, FIXED=MARK[::-1])
    assert "FIXED: cannot be changed once it is installed" in said
    assert MARK not in said
    assert MARK[::-1] not in said


async def test_a_toggle_that_says_neither_is_named_without_its_value(world: World) -> None:
    task = {"name": "config", "kind": "Toggle", "spec": {"parameter": "SWITCH", "resources": ["config.yaml"]}}
    world.package("other", with_template(HEAD, task))
    said = await failed(world, SWITCH=MARK)
    assert "SWITCH: must be true or false" in said
    assert MARK not in said


@pytest.mark.parametrize("kind", [Invalid, BadRequest])
async def test_what_the_server_repeats_of_an_object_is_not_told(world: World, kind: type[Invalid | BadRequest]) -> None:
    cause = FieldCause(field="data.a", message=f'Invalid value: "{MARK}": must be short', reason="FieldValueInvalid")
    details = StatusDetails(name="config", kind="ConfigMap", causes=(cause,) if kind is Invalid else ())

    class Strict:
        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def apply(self, resource: Any, key: Any, body: Any, options: Any) -> Any:
            if resource.kind == "ConfigMap":
                raise kind(f'cannot be read: "{MARK}" is no such thing', status=Status(code=422, details=details))
            return await world.api.apply(resource, key, body, options)

    world.package("other", with_template(HEAD + "data: {a: {{ .Params.WORD }}}"))
    world.install("other", WORD=MARK)
    async with world.operator(Strict()):
        await world.until(lambda: world.condition("Stalled").get("status") == "True")
    said = told(world)
    assert ("data.a: Invalid value: must be short" if kind is Invalid else "cannot be read: ...") in said
    assert MARK not in said


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            f'Invalid value: "{MARK}": must be at most 3, and "{MARK}" is not',
            'Invalid value: must be at most 3, and "..." is not',
        ),
        (f'Invalid value: "a\\"{MARK}": field is immutable', "Invalid value: field is immutable"),
        (
            f'Invalid value: v1.LabelSelector{{"app":"{MARK}: x"}}: field is immutable',
            "Invalid value: field is immutable",
        ),
        (f'Invalid value: {{"a": "{MARK}"}}', "Invalid value"),
        (f'Unsupported value: "{MARK}": supported values: "a", "b"', 'Unsupported value: supported values: "a", "b"'),
        (f'Duplicate value: "{MARK}"', "Duplicate value"),
        ("Required value: must be set", "Required value: must be set"),
        ("Forbidden: updates to spec are forbidden", "Forbidden: updates to spec are forbidden"),
        (f'denied, as "{MARK}" is no name', "denied, as ... is no name"),
        ("", "FieldValueInvalid"),
    ],
)
def test_of_each_cause_of_a_refusal_what_is_accepted_stays(message: str, told: str) -> None:
    cause = FieldCause(field="spec.x", message=message, reason="FieldValueInvalid")
    details = StatusDetails(name="web", kind="Deployment", causes=(cause,))
    error = Invalid("all of it", status=Status(code=422, details=details))
    assert public(error) == f"Deployment web is invalid: spec.x: {told}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            'Secret in version "v1" cannot be handled: illegal base64',
            'Secret in version "v1" cannot be handled: illegal base64',
        ),
        ('strict decoding error: unknown field "spec.x"', 'strict decoding error: unknown field "spec.x"'),
        (f'parsing time "{MARK}" as "2006"', "parsing time ... as ..."),
        (
            f".data.a: expected string, got &value.valueUnstructured{{Value:{MARK}}}",
            ".data.a: expected string, got &value.valueUnstructured...",
        ),
    ],
)
def test_of_a_request_that_cannot_be_read_fields_and_versions_stay(message: str, told: str) -> None:
    assert public(BadRequest(message)) == told


@pytest.mark.parametrize("value", ['"' + '\\"' * 200_000, "{Value:" * 100_000, '"' + '\\"' * 200_000 + "\\"])
def test_a_refusal_with_a_value_without_an_end_is_read_once(value: str) -> None:
    """The name of a field may be anything. Each of its quotes was taken for the begin of a value, for hours."""
    error = BadRequest(f"failed to create typed patch object: .data.{value}: field not declared in schema")
    assert public(error).startswith("failed to create typed patch object: .data.")
    cause = FieldCause(field="data", message=f"Invalid value: {value}")
    details = StatusDetails(causes=(cause,))
    assert public(Invalid("no", status=Status(details=details))).startswith(
        "the object is invalid: data: Invalid value"
    )

"""The options of the operator."""

from stateward.operator.runtime.options import OperatorOptions


def test_without_any_namespace_all_are_watched() -> None:
    assert OperatorOptions().watched == ("",)
    assert OperatorOptions(namespaces=("prod", "test")).watched == ("prod", "test")

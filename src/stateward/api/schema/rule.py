"""One rule between fields, in the expression language (CEL) of the API server."""

import json
from dataclasses import dataclass

from stateward.api.values.base import Json


@dataclass(frozen=True)
class Rule:
    """An expression that must be true of a record, and the message for the field if it is not."""

    expression: str
    message: str
    field: str | None = None
    shown: str | None = None
    """An expression for the value as text: the API server itself shows only the type of what broke a rule."""
    forbidden: bool = False

    def document(self) -> Json:
        """Return it as an item of `x-kubernetes-validations`."""
        reason = "FieldValueForbidden" if self.forbidden else "FieldValueInvalid"
        path = {} if self.field is None else {"fieldPath": self.field}
        return {"rule": self.expression, "message": self.message, **self._spoken(), **path, "reason": reason}

    def _spoken(self) -> Json:
        if self.shown is None:
            return {}
        return {"messageExpression": f"{self.shown} + {json.dumps(': ' + self.message)}"}


def unchanged(*fields: str) -> str:
    """Return the expression that these fields are as they were."""
    return " && ".join(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        for name in fields
    )

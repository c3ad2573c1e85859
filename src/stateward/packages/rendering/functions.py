"""The functions that templates may call: Go's own and Sprig's, less those that reach outside or differ each time."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cache, wraps
from inspect import Signature, signature
from typing import Any

from gotpl.funcs.sprig import text_func_map
from gotpl.runtime.callables import call_spec
from gotpl.runtime.results import FunctionResult
from gotpl.runtime.sync_vm import (
    _builtin_functions,  # pyright: ignore[reportPrivateUsage] - gotpl is pinned, and a test sees when this goes
)

from stateward.packages.format.work_budget import LARGEST_VALUE, Exhausted, Fuel, ahead
from stateward.packages.format.yamltext import to_yaml

Function = Callable[..., object]

_OUTSIDE = "a template has no access to files, the environment or the network"
_DIFFERENT = (
    "its result differs each time, and a package must always render the same from the same values;"
    " make it a parameter, or a file of a Pipe task"
)
_COSTLY = "it is slow on purpose; make its result a parameter"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("env", "expandenv", "getHostByName"), _OUTSIDE),
    **dict.fromkeys(("base", "dir", "clean", "ext", "isAbs"), _OUTSIDE),
    **dict.fromkeys(("osBase", "osDir", "osClean", "osExt", "osIsAbs"), _OUTSIDE),
    **dict.fromkeys(("now", "ago", "uuidv4", "shuffle", "randInt", "randBytes"), _DIFFERENT),
    **dict.fromkeys(("randAlpha", "randAlphaNum", "randAscii", "randNumeric"), _DIFFERENT),
    **dict.fromkeys(("genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey"), _DIFFERENT),
    **dict.fromkeys(("genSignedCert", "genSignedCertWithKey", "genPrivateKey", "buildCustomCert"), _DIFFERENT),
    **dict.fromkeys(("encryptAES", "decryptAES"), _DIFFERENT),
    **dict.fromkeys(("bcrypt", "htpasswd", "derivePassword"), _COSTLY),
}
"""Functions that Sprig has and templates do not, each with the reason."""


def functions(fuel: Fuel) -> dict[str, Function]:
    """Return the functions of one rendering, which all pay from its fuel."""
    reading = {name: _reading(_callable()[name], fuel) for name in _READING}
    return {name: _paying(name, function, fuel) for name, function in _available().items()} | reading


def names() -> Collection[str]:
    """Return the names of all functions, besides those of the engine itself."""
    return _available().keys()


@cache
def _available() -> Mapping[str, Function]:
    found = {name: function for name, function in text_func_map(clock=_now).items() if name not in REFUSED}
    printing = {name: function for name, function in _builtin_functions("go").items() if name in _PRINTING}
    return {**found, **printing, "toYaml": to_yaml}


@cache
def _callable() -> Mapping[str, Function]:
    """Return all functions that a template can call; the engine's sandbox has no `call`."""
    go = {name: function for name, function in _builtin_functions("go").items() if name != "call"}
    return {**go, **_available()}


_LEAST: Mapping[str, int] = {"eq": 2, "dig": 3}
"""Arguments that functions ask for although their signature does not."""
_LOGICAL = ("and", "or")
"""Parts of the language that look like functions: they evaluate their arguments one by one."""


def misuse(name: str, count: int) -> str:
    """Return what the engine says of a call with so many arguments, the piped one among them; empty if it is right."""
    if name in _LOGICAL:
        return "" if count else f"function {name!r} requires an argument"
    function, least = _callable().get(name), _LEAST.get(name, 0)
    if function is None:
        return f"function {name!r} not defined"
    if count < least:
        return f"wrong number of args for {name}: want at least {least} got {count}"
    takes = call_spec(function)
    return (takes.arity_error(name, count) if takes is not None else None) or ""


@cache
def always_made(name: str) -> bool:
    """Whether a function always makes a value; others may pass on that there is none, which is not piped."""
    function = _callable().get(name)
    made = object if function is None else signature(function).return_annotation
    return made not in (object, "object", Signature.empty) and "FunctionResult" not in str(made)


def _now() -> datetime:
    """Refuse what functions of dates do with what is no date: they take the present moment for it."""
    raise ValueError(f"needs a date, and would use the current time: {_DIFFERENT}")


_PRINTING = ("print", "printf", "println", "html", "js", "urlquery")
"""Go's own functions that convert anything to text, and therefore have to pay as well."""


_READING = ("len", "index")
"""Go's own functions that read a whole text to answer, and nothing of a list or an object."""


def _reading(function: Function, fuel: Fuel) -> Function:
    @wraps(function)
    def call(*arguments: Any) -> object:
        if arguments and isinstance(arguments[0], str):
            fuel.burn(len(arguments[0]))
        return function(*arguments)

    return call


def _paying(name: str, function: Function, fuel: Fuel) -> Function:
    @wraps(function)
    def call(*arguments: Any) -> object:
        fuel.pay_for(name, arguments)
        if (made := ahead(name, arguments)) > LARGEST_VALUE:
            raise Exhausted(f"{name}: would produce or read {made} characters or elements")
        fuel.burn(made)
        result = function(*arguments)
        value = result.value if isinstance(result, FunctionResult) else result
        fuel.pay_for(name, value)
        fuel.made(value)
        return result

    return call

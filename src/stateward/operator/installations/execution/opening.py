"""Opening a package: from the object that holds it to what can be used."""

import base64
import binascii

from stateward.api.kinds.package import Package as PackageObject
from stateward.api.values.problem import short
from stateward.packages.distribution.archive import BadArchive, unpack
from stateward.packages.format.reading import InvalidPackage, read_package
from stateward.packages.format.records import Package
from stateward.packages.review.checks import check_package

LONGEST_MESSAGE = 5000
"""Characters of what is wrong with a package: the problems of a hostile one fill no status."""


class NoPackageError(Exception):
    """A package that is not there, or cannot be used; `reason` is for programs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = short(message, LONGEST_MESSAGE)


def open_package(body: PackageObject) -> Package:
    """Return the package that an object holds; raises NoPackageError for one that cannot work.

    A package that works with its values is opened, even if `verify` finds a mistake in another branch: an update of the
    operator must not stop an installation.
    """
    where = f"{body.kind} {body.metadata.name}"
    try:
        found = read_package(unpack(base64.b64decode(body.spec.archive, validate=True)))
    except (BadArchive, InvalidPackage, binascii.Error) as error:
        raise NoPackageError("PackageBroken", f"{where} cannot be read: {error}") from error
    if (found.name, found.version) != (body.spec.name, body.spec.version):
        said = f"{body.spec.name} {body.spec.version}"
        raise NoPackageError("PackageBroken", f"{where} says it is {said}, and holds {found.name} {found.version}")
    if body.spec.digest not in ("", found.digest):
        raise NoPackageError(
            "PackageBroken", f"{where} says its digest is {body.spec.digest}, and it is {found.digest}"
        )
    wrong = [problem for problem in check_package(found, unused=False) if problem.severity.value == "error"]
    if wrong:
        raise NoPackageError("PackageBroken", f"{where}: " + "; ".join(str(problem) for problem in wrong[:3]))
    return found

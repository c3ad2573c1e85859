"""What steps render, remembered: a step that waits is looked at often, and an installation at rest again and again.

The same use of a package renders the same objects each time, and nobody changes them.
"""

from collections import OrderedDict

import msgspec

from stateward.packages.rendering import Place, Use
from stateward.packages.steps import Work, work_of

MOST = 128
"""Steps that are remembered; each is a few kilobytes for each of its objects."""


class Works:
    """The last steps that were asked for."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str | bytes, ...], Work] = OrderedDict()

    def of(self, use: Use, place: Place) -> Work:
        """Return what a step wants; raises TemplateProblem, BadValue."""
        values = msgspec.json.encode(use.values, order="deterministic")
        name = (use.package.digest, use.name, use.namespace, values, place.plan, place.phase, place.step.name)
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = work_of(use, place)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return found

"""Token buckets per name: a burst, then one token per interval."""

from collections import OrderedDict

from stateward.kube.timing.clock import Clock

_REMEMBERED = 10_000


class TokenBuckets:
    """A bucket of `burst` tokens for each name, refilled by one every `refill` seconds."""

    def __init__(self, clock: Clock, burst: int, refill: float) -> None:
        self._clock = clock
        self._burst = burst
        self._refill = refill
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Take a token; return False if there is none."""
        now = self._clock.monotonic()
        level, at = self._levels.pop(name, (float(self._burst), now))
        level = min(float(self._burst), level + (now - at) / self._refill)
        granted = level >= 1.0
        self._levels[name] = (level - 1.0 if granted else level, now)
        if len(self._levels) > _REMEMBERED:
            # The longest unused bucket is most likely full again, and a forgotten one counts as full.
            self._levels.popitem(last=False)
        return granted

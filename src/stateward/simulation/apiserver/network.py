"""The network between one client and the server: latency, lag, errors, lost responses, and broken streams.

A `Network` belongs to one client. Its rates are zero unless a fault sets them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from stateward.kube.objects.errors import ApiError, Status, TransportError, error_for


@dataclass(slots=True)
class Rates:
    """Probabilities for each request, and times in seconds."""

    error: float = 0.0
    """The server answers 5xx or 429 and does nothing."""
    lost: float = 0.0
    """The server performs a write, and its response is lost."""
    slow: float = 0.0
    """A request takes up to a minute, or times out."""
    latency: tuple[float, float] = (0.001, 0.012)
    lag: float = 0.0
    """How far behind each watch is."""
    stream: tuple[float, float] = (0.0, 0.0)
    """After how many seconds a watch breaks; zero for never."""
    stale: int = 0
    """By how many revisions the first state of a watch, or of a list from the server's cache, is stale."""


@dataclass(slots=True)
class Network:
    """The network of one client; `write_done` is called right after each performed write, and may kill the client."""

    rng: random.Random
    count: Callable[[str], None]
    write_done: Callable[[str, str], None] = lambda _verb, _kind: None
    rates: Rates = field(default_factory=Rates)
    lags: dict[str, float] = field(default_factory=dict)
    """Extra lag of the watches of one kind, in seconds."""
    stales: dict[str, int] = field(default_factory=dict[str, int])
    """The same as `Rates.stale`, for one kind."""
    frozen_until: float = 0.0
    """The time until which no event arrives on any watch."""
    dead: bool = False

    def latency(self) -> float:
        """Return the latency of one direction."""
        low, high = self.rates.latency
        return low + (high - low) * self.rng.random()

    def hindrance(self) -> float:
        """Return the delay of a request; raises the error of a request that does not reach the server."""
        if self.rates.slow and self.rng.random() < self.rates.slow:
            self.count("api request slow")
            return self.rng.uniform(1.0, 40.0)
        return 0.0

    def refuse(self) -> ApiError | None:
        """Return the error with which the server rejects a request; None if it accepts it."""
        if not self.rates.error or self.rng.random() >= self.rates.error:
            return None
        code = self.rng.choice((429, 500, 503, 504, 0))
        self.count(f"api error {code}")
        if code == 0:
            return TransportError("connection refused")
        reason = {429: "TooManyRequests", 504: "Timeout"}.get(code, "InternalError")
        return error_for(Status(kind="Status", code=code, reason=reason, message="the server cannot answer now"))

    def loses(self) -> bool:
        """Return whether the response to a write is lost."""
        if not self.rates.lost or self.rng.random() >= self.rates.lost:
            return False
        self.count("api answer lost")
        return True

    def due(self, kind: str, at: float) -> float:
        """Return when a change of a given time arrives on a watch."""
        return max(at + self.rates.lag + self.lags.get(kind, 0.0), self.frozen_until)

    def life(self) -> float:
        """Return after how many seconds a new stream breaks."""
        low, high = self.rates.stream
        return self.rng.uniform(low, high) if high else float("inf")

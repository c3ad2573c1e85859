"""A clock that stands still until a test moves it."""

from stateward.kube.timing.clock import SystemClock


class MovedClock(SystemClock):
    """Its monotonic time begins at 1,000 seconds."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at

    def later(self, seconds: float) -> None:
        self.at += seconds

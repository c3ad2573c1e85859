"""What the sandbox says when it cannot go on: one line, what is wrong and what to do."""


class SandboxError(Exception):
    """A failure that a user can fix; its text is one line that says what to do."""


class CommandError(SandboxError):
    """A program that the sandbox ran ended with a failure; `output` is what it said."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output

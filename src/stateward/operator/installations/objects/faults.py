"""Why an object could not be made or removed, as far as that matters to a plan."""


class FatalError(Exception):
    """Something that will not pass by itself: the plan has failed."""


class HeldError(Exception):
    """Something that only others can change; it is looked at again."""


class NotAllowedError(HeldError):
    """An account that lacks a right or may not be used; the message names it and says what to do."""

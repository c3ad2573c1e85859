"""Times of a schedule, as people write them."""

from typing import Annotated

from msgspec import Meta

Times = Annotated[
    str,
    Meta(
        pattern=r"^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$",
        max_length=200,
        extra={"accepts": "must be five fields as in a crontab, for example 30 3 * * *"},
    ),
]

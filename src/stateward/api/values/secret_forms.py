"""The forms in which texts repeat the value of a Secret: as it is, in JSON, in an address, and in Base64."""

import base64
import json
from urllib.parse import quote


def forms_of(value: str) -> frozenset[str]:
    """Return each form in which a log, an answer or an object may have a value; none of an empty one."""
    if not value:
        return frozenset()
    in_json = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return frozenset({value, quote(value, safe=""), base64.b64encode(value.encode()).decode(), *in_json})

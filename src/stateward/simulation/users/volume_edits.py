"""Edits of volumes: sizes, storage classes, and policies."""

from stateward.simulation.users.edits import Draft, Edit


def _larger(draft: Draft) -> bool:
    storage = draft.storage()
    if storage is None:
        return False
    size = int(storage["size"].removesuffix("Gi")) + 1
    storage["size"] = f"{size}Gi"
    if "grow" in storage:
        storage["grow"]["max"] = f"{max(size, int(storage['grow']['max'].removesuffix('Gi')))}Gi"
    return True


def _smaller(draft: Draft) -> bool:
    storage = draft.storage()
    if storage is None:
        return False
    size = int(storage["size"].removesuffix("Gi"))
    if size < 2:
        return False
    storage["size"] = f"{size - 1}Gi"
    return True


def _class(draft: Draft) -> bool:
    wanted, storage = draft.rng.choice(("standard", "fast", "rigid")), draft.storage()
    if storage is None:
        return False
    storage["storageClass"] = wanted
    return True


def _growth(draft: Draft) -> bool:
    """Let the volumes of a pool grow by themselves, or change or end that."""
    storage = draft.storage()
    if storage is None:
        return False
    if "grow" in storage and draft.rng.random() < 0.4:
        del storage["grow"]
        return True
    size = int(storage["size"].removesuffix("Gi"))
    share = f"{draft.rng.choice((10, 25, 100))}%"
    storage["grow"] = {"max": f"{size + draft.rng.choice((0, 10, 200))}Gi", "when": "70%", "by": share}
    return True


def _when_shrunk(draft: Draft) -> bool:
    return _policy(draft, "whenShrunk", "Refuse")


def _when_scaled(draft: Draft) -> bool:
    return _policy(draft, "whenScaled", "Delete")


def _policy(draft: Draft, name: str, other: str) -> bool:
    """Set a policy to its other value, or remove it."""
    volumes = draft.spec.setdefault("volumes", {})
    if volumes.pop(name, None) is None:
        volumes[name] = other
    return True


VOLUME_EDITS = (
    Edit("volumes grown", 3, _larger),
    Edit("volumes shrunk", 2, _smaller),
    Edit("growth of volumes changed", 0, _growth),
    Edit("storage class changed", 1, _class),
    Edit("whenShrunk toggled", 1, _when_shrunk),
    Edit("whenScaled toggled", 1, _when_scaled),
)

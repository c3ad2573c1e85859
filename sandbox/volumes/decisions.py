"""The changes for each claim and volume: pure functions, testable without a cluster."""

from typing import Any

from sandbox.volumes.names import PROVISIONER

Object = dict[str, Any]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
DIRECTORY_IN_NODE = "/var/lib/volumes"


def wants_volume(claim: Object, classes: dict[str, Object], provisioner: str = PROVISIONER) -> str | None:
    """Return the node on which a volume is to be made for the claim, None if none is."""
    if claim["metadata"].get("deletionTimestamp") or claim["spec"].get("volumeName"):
        return None
    storage_class = classes.get(claim["spec"].get("storageClassName") or "")
    if storage_class is None or storage_class["provisioner"] != provisioner:
        return None
    node: str | None = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
    return node


def volume_name(claim: Object) -> str:
    """Return the name of the claim's volume: the same at every try."""
    return f"pvc-{claim['metadata']['uid']}"


def new_volume(claim: Object, node: str, storage_class: Object, inside: str = "") -> Object:
    """Return the volume for the claim on the node; its data are `inside` what is made for it."""
    metadata = claim["metadata"]
    name = volume_name(claim)
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: storage_class["provisioner"]}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"],
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
            "local": {"path": f"{DIRECTORY_IN_NODE}/{name}{inside}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        },
    }


def is_ours(volume: Object, provisioner: str = PROVISIONER) -> bool:
    """Return whether the volume was made by the provisioner."""
    return volume["metadata"].get("annotations", {}).get(PROVISIONED_BY) == provisioner


def node_of(volume: Object) -> str:
    """Return the node of a volume that was made here."""
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    node: str = terms[0]["matchExpressions"][0]["values"][0]
    return node


def to_be_deleted(volume: Object, provisioner: str = PROVISIONER) -> bool:
    """Return whether the volume's claim is gone and its data with it."""
    return (
        is_ours(volume, provisioner)
        and volume.get("status", {}).get("phase") == "Released"
        and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        and not volume["metadata"].get("deletionTimestamp")
    )


def growth(claim: Object, volume: Object) -> str | None:
    """Return the capacity that a bound claim asks for beyond what it has, None if it has it; the volume is ours."""
    asked: str = claim["spec"]["resources"]["requests"]["storage"]
    held = claim.get("status", {}).get("capacity", {}).get("storage", "0")
    if claim.get("status", {}).get("phase") != "Bound":
        return None
    return asked if in_bytes(asked) > min(in_bytes(held), in_bytes(volume["spec"]["capacity"]["storage"])) else None


_SUFFIXES = {"": 1, "m": 0.001, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18} | {
    f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)
}


def in_bytes(quantity: str) -> float:
    """Return a quantity such as `1Gi` or `500M` as a number of bytes."""
    number = quantity.rstrip("kKmMGTPEi")
    return float(number) * _SUFFIXES[quantity[len(number) :]]

"""The objects that pods use because of overrides, and the clusters that each object concerns."""

from stateward.api.kinds.additions.keystore import SecureSetting, SecureSettings
from stateward.api.values.base import Json
from stateward.engines import opensearch
from stateward.engines.pods.uses import known, uses, uses_of
from stateward.engines.search.configuration import keystore
from stateward.packages.restarts.dependencies import Dependency
from stateward.packages.restarts.digests import Key
from stateward.planning.model.observation import Effect
from tests.unit.engines.search_clusters import cluster

ENV: Json = {"spec": {"containers": [{"name": "opensearch", "envFrom": [{"secretRef": {"name": "words"}}]}]}}
DATA = {
    "Secret/words:": "+",
    "Secret/words:a": "key/1",
    "Secret/one:a": "key/2",
    "Secret/one:b": "key/3",
    "keystore/Secret/store:x": "key/4",
    "keystore/Secret/store:y as s3.z": "key/5",
}


def test_variables_and_volumes_of_overrides_are_used_and_pull_secrets_are_not() -> None:
    spec: Json = {
        "imagePullSecrets": [{"name": "pull"}],
        "volumes": [{"name": "v", "secret": {"secretName": "files"}}],
        "containers": [{"name": "opensearch", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
    }
    assert uses({"spec": spec}) == {Dependency("Secret", "files")}
    assert uses({}) == frozenset()


def test_a_cluster_uses_what_any_of_its_pools_uses_and_nothing_that_stateward_mounts_by_itself() -> None:
    made = cluster(pools=[{"name": "hot", "replicas": 1, "podTemplate": ENV}, {"name": "cold", "replicas": 1}])
    assert uses_of(made) == {Dependency("Secret", "words")}
    assert uses_of(cluster()) == frozenset()


def test_a_template_is_concerned_by_the_keys_that_it_uses() -> None:
    reference = {"secretKeyRef": {"name": "one", "key": "a"}}
    one: Json = {"spec": {"containers": [{"name": "opensearch", "env": [{"name": "A", "valueFrom": reference}]}]}}
    assert known(one, DATA) == {"Secret/one:a": "key/2"}
    assert known(ENV, DATA) == {"Secret/words:": "+", "Secret/words:a": "key/1"}
    assert known(ENV, None) == {}


def test_data_in_variables_recreates_pods_and_data_in_the_keystore_restarts_processes() -> None:
    asked = [{"secretName": "store", "entries": [{"key": "x"}]}]
    made = cluster(status={"dataDigests": DATA}, podTemplate=ENV, secureSettings=asked)
    (pool, *_) = opensearch.desired(made).pools
    data = {name for name in pool.inputs if name.startswith(("Secret/", "keystore"))}
    assert data == {"Secret/words:", "Secret/words:a", "keystore", "keystore/Secret/store:x"}
    effects = {name: pool.effects[name.partition("/")[0]] for name in data}
    assert effects == {
        "Secret/words:": Effect.RECREATE,
        "Secret/words:a": Effect.RECREATE,
        "keystore": Effect.RESTART,
        "keystore/Secret/store:x": Effect.RESTART,
    }


def test_a_setting_under_another_name_says_the_key_that_it_comes_from() -> None:
    asked = [SecureSettings(secret_name="store", entries=[SecureSetting(key="y", setting="s3.z")])]
    assert keystore.inputs(asked, DATA) == {"keystore/Secret/store:y as s3.z": "key/5"}
    (found,) = keystore.settings(asked[0], {"y": b"word", "other": b""})
    assert (found.name, found.input) == ("s3.z", "keystore/Secret/store:y as s3.z")
    assert keystore.missing_keys(asked[0], []) == ("y",)


def test_the_order_in_which_settings_are_requested_says_nothing() -> None:
    one = SecureSettings(secret_name="a", entries=[SecureSetting(key="x"), SecureSetting(key="y")])
    same = SecureSettings(secret_name="a", entries=[SecureSetting(key="y"), SecureSetting(key="x", setting="x")])
    other = SecureSettings(secret_name="b")
    assert keystore.summary([one, other]) == keystore.summary([other, same])
    assert keystore.summary([other]) != keystore.summary([one])


def test_files_are_read_back_and_the_last_secret_that_gives_a_setting_has_it() -> None:
    first, second = (keystore.Setting("a", Dependency("Secret", name, "a"), name.encode()) for name in ("one", "two"))
    files = keystore.files([first, second], Key(b"k" * 32))
    assert keystore.read(files) == (second,)
    assert keystore.read({f"{keystore.PREFIX}a": "?\nx\ny\n", f"{keystore.PREFIX}b": ""}) == ()


def test_the_seal_says_nothing_without_the_key_and_differs_with_what_is_sealed() -> None:
    setting = keystore.Setting("a", Dependency("Secret", "one", "a"), b"word")
    mine, theirs = (keystore.files([setting], Key(secret * 32)) for secret in (b"k", b"l"))
    assert mine[keystore.SEAL] != theirs[keystore.SEAL]
    assert mine[keystore.SEAL] != keystore.files([], Key(b"k" * 32))[keystore.SEAL]

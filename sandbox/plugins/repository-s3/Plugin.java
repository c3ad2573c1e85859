package dev.stateward.sandbox.s3;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.opensearch.cluster.metadata.RepositoryMetadata;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.settings.SecureSetting;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Setting.Property;
import org.opensearch.common.settings.Settings;
import org.opensearch.core.common.settings.SecureString;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.env.Environment;
import org.opensearch.indices.recovery.RecoverySettings;
import org.opensearch.plugins.ReloadablePlugin;
import org.opensearch.plugins.RepositoryPlugin;
import org.opensearch.repositories.Repository;
import org.opensearch.repositories.RepositoryException;

/**
 * Stands in for repository-s3: repositories of type {@code s3}, set as its documentation says, in a real S3 server.
 *
 * <p>It insists on what the documentation asks for: a bucket, and credentials of the client in the keystore. It reads
 * them at the start and when secure settings are reloaded.
 */
public final class Plugin extends org.opensearch.plugins.Plugin implements RepositoryPlugin, ReloadablePlugin {
    private static final String PREFIX = "s3.client.";
    private static final Setting.AffixSetting<SecureString> ACCESS_KEY = secret("access_key");
    private static final Setting.AffixSetting<SecureString> SECRET_KEY = secret("secret_key");
    private static final Setting.AffixSetting<String> ENDPOINT = text("endpoint", "");
    private static final Setting.AffixSetting<String> REGION = text("region", "us-east-1");
    private static final Setting.AffixSetting<String> PROTOCOL = text("protocol", "https");
    private static final Setting.AffixSetting<Boolean> PATH_STYLE = Setting.affixKeySetting(
            PREFIX, "path_style_access", key -> Setting.boolSetting(key, false, Property.NodeScope));

    private volatile Map<String, Client> clients;

    public Plugin(Settings settings) {
        reload(settings);
    }

    @Override
    public List<Setting<?>> getSettings() {
        return List.of(ACCESS_KEY, SECRET_KEY, ENDPOINT, REGION, PROTOCOL, PATH_STYLE);
    }

    /** Reads the clients anew: secure settings can be read only now. */
    @Override
    public void reload(Settings settings) {
        Map<String, Client> found = new HashMap<>();
        for (String name : ACCESS_KEY.getNamespaces(settings)) {
            try (SecureString access = of(ACCESS_KEY, name, settings);
                    SecureString secret = of(SECRET_KEY, name, settings)) {
                String server = of(PROTOCOL, name, settings) + "://" + of(ENDPOINT, name, settings);
                boolean hasServer = !of(ENDPOINT, name, settings).isEmpty() && of(PATH_STYLE, name, settings);
                String region = of(REGION, name, settings);
                found.put(name, new Client(hasServer ? server : "", region, access.toString(), secret.toString()));
            }
        }
        clients = Map.copyOf(found);
    }

    @Override
    public Map<String, Repository.Factory> getRepositories(
            Environment environment, NamedXContentRegistry registry, ClusterService cluster, RecoverySettings recovery) {
        return Map.of("s3", metadata -> new S3Repository(metadata, registry, cluster, recovery, () -> client(metadata)));
    }

    private Client client(RepositoryMetadata metadata) {
        String name = metadata.settings().get("client", "default");
        Client found = clients.get(name);
        if (found == null || found.secretKey().isEmpty()) {
            throw new RepositoryException(metadata.name(), "the keystore has no " + PREFIX + name + ".access_key and .secret_key");
        }
        if (found.server().isEmpty()) {
            throw new RepositoryException(
                    metadata.name(), "this stand-in needs " + PREFIX + name + ".endpoint and .path_style_access: true");
        }
        return found;
    }

    private static <T> T of(Setting.AffixSetting<T> setting, String name, Settings settings) {
        return setting.getConcreteSettingForNamespace(name).get(settings);
    }

    private static Setting.AffixSetting<SecureString> secret(String last) {
        Function<String, Setting<SecureString>> make = key -> SecureSetting.secureString(key, null);
        return Setting.affixKeySetting(PREFIX, last, make);
    }

    private static Setting.AffixSetting<String> text(String last, String otherwise) {
        Function<String, Setting<String>> make = key -> Setting.simpleString(key, otherwise, Property.NodeScope);
        return Setting.affixKeySetting(PREFIX, last, make);
    }
}

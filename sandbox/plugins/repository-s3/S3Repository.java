package dev.stateward.sandbox.s3;

import java.util.function.Supplier;
import org.opensearch.cluster.metadata.RepositoryMetadata;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.blobstore.BlobPath;
import org.opensearch.common.blobstore.BlobStore;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.indices.recovery.RecoverySettings;
import org.opensearch.repositories.RepositoryException;
import org.opensearch.repositories.blobstore.BlobStoreRepository;

/** A repository in a bucket: settings {@code bucket}, {@code base_path} and {@code client}. */
final class S3Repository extends BlobStoreRepository {
    private final Supplier<Client> client;
    private final String bucket;

    S3Repository(
            RepositoryMetadata metadata,
            NamedXContentRegistry registry,
            ClusterService cluster,
            RecoverySettings recovery,
            Supplier<Client> client) {
        super(metadata, registry, cluster, recovery);
        this.client = client;
        this.bucket = metadata.settings().get("bucket", "");
        if (bucket.isEmpty()) {
            throw new RepositoryException(metadata.name(), "No bucket defined for s3 repository");
        }
        client.get();
    }

    @Override
    protected BlobStore createBlobStore() {
        return new Bucket(client, bucket);
    }

    @Override
    public BlobPath basePath() {
        BlobPath path = BlobPath.cleanPath();
        for (String part : getMetadata().settings().get("base_path", "").split("/")) {
            path = part.isEmpty() ? path : path.add(part);
        }
        return path;
    }
}

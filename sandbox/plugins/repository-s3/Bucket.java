package dev.stateward.sandbox.s3;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.opensearch.common.blobstore.BlobContainer;
import org.opensearch.common.blobstore.BlobMetadata;
import org.opensearch.common.blobstore.BlobPath;
import org.opensearch.common.blobstore.BlobStore;
import org.opensearch.common.blobstore.DeleteResult;
import org.opensearch.common.blobstore.support.AbstractBlobContainer;
import org.opensearch.common.blobstore.support.PlainBlobMetadata;

/** The objects of a bucket, by their paths. */
final class Bucket implements BlobStore {
    private final Supplier<Client> client;
    private final String name;

    Bucket(Supplier<Client> client, String name) {
        this.client = client;
        this.name = name;
    }

    @Override
    public BlobContainer blobContainer(BlobPath path) {
        return new Folder(path);
    }

    @Override
    public void close() {}

    private InputStream ask(String method, String key, String range, Client.Body body) throws IOException {
        return client.get().ask(method, "/" + name + "/" + key, Map.of(), range, body);
    }

    /** What a prefix has: sizes in bytes by key, and the prefixes below it, if they are asked for apart. */
    private Listing list(String prefix, boolean apart) throws IOException {
        Listing found = new Listing(new HashMap<>(), new HashMap<>());
        String next = "";
        do {
            Map<String, String> query = new HashMap<>(Map.of("list-type", "2", "prefix", prefix));
            if (apart) {
                query.put("delimiter", "/");
            }
            if (!next.isEmpty()) {
                query.put("continuation-token", next);
            }
            try (InputStream answer = client.get().ask("GET", "/" + name, query, null, null)) {
                next = found.read(answer);
            }
        } while (!next.isEmpty());
        return found;
    }

    private record Listing(Map<String, Long> objects, Map<String, Boolean> prefixes) {
        /** Reads one page; returns where the next one begins, nothing if there is none. */
        String read(InputStream page) throws IOException {
            String text = "";
            String key = "";
            String next = "";
            boolean isPrefix = false;
            try {
                XMLStreamReader reader = XMLInputFactory.newDefaultFactory().createXMLStreamReader(page);
                while (reader.hasNext()) {
                    int event = reader.next();
                    if (event == XMLStreamConstants.START_ELEMENT) {
                        text = "";
                        isPrefix |= reader.getLocalName().equals("CommonPrefixes");
                    } else if (event == XMLStreamConstants.CHARACTERS) {
                        text += reader.getText();
                    } else if (event == XMLStreamConstants.END_ELEMENT) {
                        switch (reader.getLocalName()) {
                            case "Key" -> key = text;
                            case "Size" -> objects.put(key, Long.parseLong(text));
                            case "NextContinuationToken" -> next = text;
                            case "CommonPrefixes" -> isPrefix = false;
                            case "Prefix" -> {
                                if (isPrefix) {
                                    prefixes.put(text, true);
                                }
                            }
                            default -> {}
                        }
                        text = "";
                    }
                }
            } catch (XMLStreamException error) {
                throw new IOException("the answer to a list is not XML", error);
            }
            return next;
        }
    }

    private final class Folder extends AbstractBlobContainer {
        private final String prefix;

        Folder(BlobPath path) {
            super(path);
            this.prefix = path.buildAsString();
        }

        @Override
        public boolean blobExists(String blob) throws IOException {
            try (InputStream answer = ask("HEAD", prefix + blob, null, null)) {
                return true;
            } catch (NoSuchFileException error) {
                return false;
            }
        }

        @Override
        public InputStream readBlob(String blob) throws IOException {
            return ask("GET", prefix + blob, null, null);
        }

        @Override
        public InputStream readBlob(String blob, long position, long length) throws IOException {
            return length == 0
                    ? InputStream.nullInputStream()
                    : ask("GET", prefix + blob, "bytes=" + position + "-" + (position + length - 1), null);
        }

        @Override
        public void writeBlob(String blob, InputStream content, long size, boolean failIfExists) throws IOException {
            if (failIfExists && blobExists(blob)) {
                throw new FileAlreadyExistsException(prefix + blob);
            }
            ask("PUT", prefix + blob, null, new Client.Body(content, size)).close();
        }

        @Override
        public void writeBlobAtomic(String blob, InputStream content, long size, boolean failIfExists)
                throws IOException {
            writeBlob(blob, content, size, failIfExists); // An object is there as a whole, or not at all.
        }

        @Override
        public DeleteResult delete() throws IOException {
            DeleteResult result = DeleteResult.ZERO;
            for (Map.Entry<String, Long> each : list(prefix, false).objects().entrySet()) {
                remove(each.getKey());
                result = result.add(1, each.getValue());
            }
            return result;
        }

        @Override
        public void deleteBlobsIgnoringIfNotExists(List<String> blobs) throws IOException {
            for (String blob : blobs) {
                remove(prefix + blob);
            }
        }

        private void remove(String key) throws IOException {
            try {
                ask("DELETE", key, null, null).close();
            } catch (NoSuchFileException error) {
                // It is gone already.
            }
        }

        @Override
        public Map<String, BlobMetadata> listBlobs() throws IOException {
            return listBlobsByPrefix("");
        }

        @Override
        public Map<String, BlobMetadata> listBlobsByPrefix(String beginning) throws IOException {
            return list(prefix + beginning, true).objects().entrySet().stream()
                    .map(each -> new PlainBlobMetadata(each.getKey().substring(prefix.length()), each.getValue()))
                    .collect(Collectors.toMap(PlainBlobMetadata::name, each -> each));
        }

        @Override
        public Map<String, BlobContainer> children() throws IOException {
            Map<String, BlobContainer> found = new HashMap<>();
            for (String each : list(prefix, true).prefixes().keySet()) {
                String child = each.substring(prefix.length(), each.length() - 1);
                found.put(child, new Folder(path().add(child)));
            }
            return found;
        }
    }
}

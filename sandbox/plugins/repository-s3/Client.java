package dev.stateward.sandbox.s3;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.security.AccessController;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.PrivilegedActionException;
import java.security.PrivilegedExceptionAction;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Requests to an S3 server, signed with AWS Signature Version 4.
 *
 * @param server scheme, host and port, for example {@code http://s3:7070}
 */
record Client(String server, String region, String accessKey, String secretKey) {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
    private static final String UNSIGNED = "UNSIGNED-PAYLOAD";
    private static final String SIGNED = "host;x-amz-content-sha256;x-amz-date";

    /** What a request sends beyond its address; {@code size} is in bytes. */
    record Body(InputStream content, long size) {}

    /** Sends a request; throws NoSuchFileException if the server has no such object, else IOException. */
    InputStream ask(String method, String path, Map<String, String> query, String range, Body body) throws IOException {
        try {
            // Plug-ins run under a security manager: only what is in this block has the rights of the policy file.
            PrivilegedExceptionAction<InputStream> work = () -> send(method, path, query, range, body);
            return AccessController.doPrivileged(work);
        } catch (PrivilegedActionException error) {
            throw (IOException) error.getCause();
        }
    }

    private InputStream send(String method, String path, Map<String, String> query, String range, Body body)
            throws IOException {
        String place = encoded(path, true);
        String words = new TreeMap<>(query)
                .entrySet().stream()
                        .map(each -> encoded(each.getKey(), false) + "=" + encoded(each.getValue(), false))
                        .collect(Collectors.joining("&"));
        URI address = URI.create(server + place + (words.isEmpty() ? "" : "?" + words));
        HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
        connection.setRequestMethod(method);
        connection.setConnectTimeout(10_000);
        connection.setReadTimeout(60_000);
        // A connection that is kept needs a thread, which a plug-in may not start.
        connection.setRequestProperty("Connection", "close");
        sign(connection, method, place, words, address.getAuthority());
        if (range != null) {
            connection.setRequestProperty("Range", range);
        }
        if (body != null) {
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(body.size());
            try (var out = connection.getOutputStream()) {
                body.content().transferTo(out);
            }
        }
        int status = connection.getResponseCode();
        if (status == 404) {
            throw new NoSuchFileException(path);
        }
        if (status >= 300) {
            try (InputStream text = connection.getErrorStream()) {
                String why = text == null ? "" : new String(text.readAllBytes(), StandardCharsets.UTF_8);
                throw new IOException(method + " " + path + ": " + status + " " + why);
            }
        }
        return connection.getInputStream();
    }

    private void sign(HttpURLConnection connection, String method, String place, String words, String host) {
        String time = ZonedDateTime.now(ZoneOffset.UTC).format(TIME);
        String day = time.substring(0, 8);
        String scope = day + "/" + region + "/s3/aws4_request";
        String headers = "host:" + host + "\nx-amz-content-sha256:" + UNSIGNED + "\nx-amz-date:" + time + "\n";
        String request = String.join("\n", method, place, words, headers, SIGNED, UNSIGNED);
        String toSign = String.join("\n", "AWS4-HMAC-SHA256", time, scope, hex(digest(request)));
        byte[] key = ("AWS4" + secretKey).getBytes(StandardCharsets.UTF_8);
        for (String part : new String[] {day, region, "s3", "aws4_request"}) {
            key = hmac(key, part);
        }
        String credential = "AWS4-HMAC-SHA256 Credential=" + accessKey + "/" + scope;
        String signature = ", SignedHeaders=" + SIGNED + ", Signature=" + hex(hmac(key, toSign));
        connection.setRequestProperty("x-amz-content-sha256", UNSIGNED);
        connection.setRequestProperty("x-amz-date", time);
        connection.setRequestProperty("Authorization", credential + signature);
    }

    private static String encoded(String text, boolean isPath) {
        String found = URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
        return (isPath ? found.replace("%2F", "/") : found).replace("%7E", "~");
    }

    private static byte[] hmac(byte[] key, String text) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static byte[] digest(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String hex(byte[] bytes) {
        return java.util.HexFormat.of().formatHex(bytes);
    }
}

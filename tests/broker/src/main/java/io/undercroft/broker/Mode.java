package io.undercroft.broker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What becomes of a segment on its way into the store: its layout, and whether it is compressed and encrypted. */
public enum Mode {
    PLAIN(false, false),
    SEALED(false, true),
    AIVEN(true, false),
    AIVEN_SEALED(true, true);

    private final boolean isAiven;
    private final boolean isSealed;

    Mode(boolean isAiven, boolean isSealed) {
        this.isAiven = isAiven;
        this.isSealed = isSealed;
    }

    static Mode parse(String text) {
        return Arrays.stream(values()).filter(mode -> mode.text().equals(text)).findFirst().orElseThrow(() ->
                new IllegalArgumentException("MODE=" + text + ": expected `plain`, `sealed`, `aiven` or `aiven-sealed`"));
    }

    public String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Compressed and encrypted, so that what is stored may be smaller than what was produced. */
    public boolean isSealed() {
        return isSealed;
    }

    public boolean isAiven() {
        return isAiven;
    }

    /** Lines for {@code server.properties}; a new key pair goes into {@code folder} if one is needed. */
    public Map<String, String> properties(Path folder) throws IOException {
        Map<String, String> lines = new LinkedHashMap<>();
        if (isAiven) {
            lines.put("rsm.config.storage.layout", "aiven");
        }
        if (isSealed) {
            Path secret = folder.resolve("private.pem");
            Path open = folder.resolve("public.pem");
            writeKeyPair(secret, open);
            lines.put("rsm.config.compression.enabled", "true");
            lines.put("rsm.config.encryption.enabled", "true");
            lines.put("rsm.config.encryption.key.pair.id", "demo");
            lines.put("rsm.config.encryption.key.pairs", "demo");
            lines.put("rsm.config.encryption.key.pairs.demo.public.key.file", open.toString());
            lines.put("rsm.config.encryption.key.pairs.demo.private.key.file", secret.toString());
        }
        return lines;
    }

    private static void writeKeyPair(Path secret, Path open) throws IOException {
        KeyPairGenerator generator;
        try {
            generator = KeyPairGenerator.getInstance("RSA");
        } catch (NoSuchAlgorithmException e) {
            throw new IOException("no RSA here", e);
        }
        generator.initialize(2048);
        KeyPair pair = generator.generateKeyPair();
        Files.writeString(secret, pem("PRIVATE KEY", pair.getPrivate().getEncoded()));
        Files.writeString(open, pem("PUBLIC KEY", pair.getPublic().getEncoded()));
    }

    private static String pem(String what, byte[] der) {
        String body = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(der);
        return "-----BEGIN " + what + "-----\n" + body + "\n-----END " + what + "-----\n";
    }
}

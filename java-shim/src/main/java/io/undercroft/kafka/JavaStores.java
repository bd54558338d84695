package io.undercroft.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Trust and key stores of Java (JKS, PKCS12, whatever the JVM reads) as what a native client takes: PEM, in place. Nothing
 * is written to a disk. What a Java client would find in a store is what the native one gets.
 */
final class JavaStores {
    private static final Logger LOG = LoggerFactory.getLogger(JavaStores.class);
    private static final String COMMON = "remote.log.metadata.common.client.";
    private static final String TRUST = "ssl.truststore.";
    private static final String OWN = "ssl.keystore.";
    private static final String KEY_PASSWORD = "ssl.key.password";
    private static final String PROTOCOL = "security.protocol";

    private final Map<String, String> texts;
    private final Map<String, String> before;

    private JavaStores(Map<String, String> texts) {
        this.texts = texts;
        this.before = new TreeMap<>(texts);
    }

    /** Puts the contents of stores in the place of their names, where a client speaks TLS at all. */
    static void toPem(Map<String, String> texts) throws NativeException {
        boolean usesTls = texts.entrySet().stream().anyMatch(pair -> pair.getKey().endsWith(PROTOCOL)
            && pair.getValue().trim().toUpperCase(Locale.ROOT).endsWith("SSL"));
        if (!usesTls) {
            return;
        }
        JavaStores stores = new JavaStores(texts);
        for (String key : stores.before.keySet()) {
            if (key.endsWith(TRUST + "location")) {
                stores.trust(key, key.substring(0, key.length() - (TRUST + "location").length()));
            } else if (key.endsWith(OWN + "location")) {
                stores.own(key, key.substring(0, key.length() - (OWN + "location").length()));
            }
        }
    }

    private void trust(String key, String prefix) throws NativeException {
        KeyStore store = open(key, prefix, TRUST);
        if (store == null) {
            return;
        }
        StringBuilder pem = new StringBuilder();
        try {
            for (String alias : aliases(store)) {
                // As Java's trust manager does it: certificates, and of a key its own one.
                if (store.isCertificateEntry(alias) || store.isKeyEntry(alias)) {
                    append(pem, store.getCertificate(alias));
                }
            }
        } catch (GeneralSecurityException unreadable) {
            throw refused(key, "it can't be read: " + unreadable.getMessage());
        }
        if (pem.length() == 0) {
            throw refused(key, "it has no certificate to trust; without its password Java shows none of a PKCS12 store");
        }
        replace(prefix, TRUST, "certificates", pem.toString());
    }

    private void own(String key, String prefix) throws NativeException {
        KeyStore store = open(key, prefix, OWN);
        if (store == null) {
            return;
        }
        String storePassword = effective(prefix, OWN + "password");
        String given = effective(prefix, KEY_PASSWORD);
        String password = given != null ? given : storePassword;
        StringBuilder chain = new StringBuilder();
        StringBuilder pem = new StringBuilder();
        try {
            List<String> keys = new ArrayList<>();
            for (String alias : aliases(store)) {
                if (store.isKeyEntry(alias)) {
                    keys.add(alias);
                }
            }
            if (keys.isEmpty()) {
                throw refused(key, "it has no private key");
            }
            if (keys.size() > 1) {
                LOG.warn("{} has several keys; `{}` is used", key, keys.get(0));
            }
            Key found = store.getKey(keys.get(0), password == null ? null : password.toCharArray());
            if (!(found instanceof PrivateKey) || found.getEncoded() == null) {
                throw refused(key, "its key `" + keys.get(0) + "` is no private key that may leave it");
            }
            append(pem, "PRIVATE KEY", found.getEncoded());
            for (Certificate certificate : store.getCertificateChain(keys.get(0))) {
                append(chain, certificate);
            }
        } catch (GeneralSecurityException unreadable) {
            throw refused(key, "its key can't be read (is " + prefix + KEY_PASSWORD + " right?): " + unreadable.getMessage());
        }
        replace(prefix, OWN, "certificate.chain", chain.toString());
        texts.put(prefix + OWN + "key", pem.toString());
        forget(prefix, KEY_PASSWORD, OWN);
    }

    /** The store; null if it is PEM, which the core reads, or of a kind that this JVM doesn't know, which it refuses by name. */
    private KeyStore open(String key, String prefix, String store) throws NativeException {
        String type = effective(prefix, store + "type");
        String path = before.get(key).trim();
        if (path.isEmpty() || "PEM".equalsIgnoreCase(type == null ? null : type.trim())) {
            return null;
        }
        KeyStore loaded;
        try {
            loaded = KeyStore.getInstance(type == null || type.isBlank() ? KeyStore.getDefaultType() : type.trim());
        } catch (GeneralSecurityException unknown) {
            LOG.debug("No store of type {}", type, unknown);
            return null;
        }
        String password = effective(prefix, store + "password");
        try (InputStream from = Files.newInputStream(Path.of(path))) {
            loaded.load(from, password == null ? null : password.toCharArray());
            return loaded;
        } catch (IOException | GeneralSecurityException | RuntimeException unreadable) {
            throw refused(key, "it can't be read as a store of type " + loaded.getType() + " (" + unreadable
                + "); check " + store + "password, and " + store + "type, which is PEM for a PEM file");
        }
    }

    /** What a client with this prefix is told: its own setting or that of all. */
    private String effective(String prefix, String name) {
        String own = before.get(prefix + name);
        return own != null ? own : before.get(COMMON + name);
    }

    private void replace(String prefix, String store, String as, String pem) {
        texts.put(prefix + store + "type", "PEM");
        texts.put(prefix + store + as, pem);
        texts.remove(prefix + store + "location");
        forget(prefix, store + "password", store);
    }

    /** A password that stands where no store is was meant for this one, too. */
    private void forget(String prefix, String password, String store) {
        texts.remove(prefix + password);
        if (!before.containsKey(COMMON + store + "location")) {
            texts.remove(COMMON + password);
        }
    }

    private static List<String> aliases(KeyStore store) throws GeneralSecurityException {
        List<String> aliases = Collections.list(store.aliases());
        Collections.sort(aliases);
        return aliases;
    }

    private static void append(StringBuilder pem, Certificate certificate) throws GeneralSecurityException {
        append(pem, "CERTIFICATE", certificate.getEncoded());
    }

    private static void append(StringBuilder pem, String what, byte[] der) {
        byte[] line = {'\n'};
        pem.append("-----BEGIN ").append(what).append("-----\n")
            .append(new String(Base64.getMimeEncoder(64, line).encode(der), StandardCharsets.US_ASCII))
            .append("\n-----END ").append(what).append("-----\n");
    }

    /** Begins with the key, as the core's own do. */
    private NativeException refused(String key, String why) {
        return new NativeException(Status.CONFIG, false, key + " = `" + before.get(key) + "`: " + why);
    }
}

package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Over stores that the JDK's keytool makes: what comes out is what a Java client would use. */
class JavaStoresTest {
    private static final String COMMON = "remote.log.metadata.common.client.";
    private static final String STORE = "store-secret";
    private static final String KEY = "key-secret";

    @TempDir
    static Path folder;

    private static Path keytool(String name, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(Arrays.asList(arguments));
        Path store = folder.resolve(name);
        command.addAll(List.of("-keystore", store.toString(), "-storepass", STORE, "-noprompt"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return store;
    }

    /** A key of its own, in a store of this type; JKS keeps a password of its own for each key. */
    private static Path withKey(String name, String type, String algorithm, String keyPassword) throws Exception {
        return keytool(name, "-genkeypair", "-alias", "me", "-keyalg", algorithm, "-dname", "CN=" + name, "-validity", "3650",
            "-storetype", type, "-keypass", keyPassword);
    }

    private static Path withTrust(String name, String type, Path... owners) throws Exception {
        for (Path owner : owners) {
            Path certificate = folder.resolve(name + owner.getFileName() + ".crt");
            keytool(owner.getFileName().toString(), "-exportcert", "-alias", "me", "-rfc", "-file", certificate.toString());
            keytool(name, "-importcert", "-alias", owner.getFileName().toString(), "-file", certificate.toString(), "-storetype", type);
        }
        return folder.resolve(name);
    }

    private static Path rsaJks;
    private static Path ecPkcs12;
    private static Path trustJks;
    private static Path trustPkcs12;

    @BeforeAll
    static void makeStores() throws Exception {
        rsaJks = withKey("rsa.jks", "JKS", "RSA", KEY);
        ecPkcs12 = withKey("ec.p12", "PKCS12", "EC", STORE);
        trustJks = withTrust("trust.jks", "JKS", rsaJks, ecPkcs12);
        trustPkcs12 = withTrust("trust.p12", "PKCS12", ecPkcs12);
    }

    private static Map<String, String> tls(String... pairs) {
        Map<String, String> texts = new TreeMap<>(Map.of(COMMON + "security.protocol", "SASL_SSL"));
        for (int i = 0; i < pairs.length; i += 2) {
            texts.put(pairs[i], pairs[i + 1]);
        }
        return texts;
    }

    private static List<Certificate> certificates(String pem) throws Exception {
        return new ArrayList<>(CertificateFactory.getInstance("X.509")
            .generateCertificates(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII))));
    }

    /** Whether the key signs what the certificate proves. */
    private static boolean belong(String keyPem, String chainPem, String algorithm, String signing) throws Exception {
        String body = keyPem.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        Signature signature = Signature.getInstance(signing);
        signature.initSign(KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(body))));
        signature.update(new byte[] {1, 2, 3});
        byte[] signed = signature.sign();
        signature.initVerify(certificates(chainPem).get(0));
        signature.update(new byte[] {1, 2, 3});
        return signature.verify(signed);
    }

    @Test
    void trustIsTheSameAsInJava() throws Exception {
        Map<String, String> texts = tls(COMMON + "ssl.truststore.location", trustJks.toString(), COMMON + "ssl.truststore.password", STORE,
            COMMON + "ssl.truststore.type", "JKS");
        JavaStores.toPem(texts);
        assertEquals(2, certificates(texts.get(COMMON + "ssl.truststore.certificates")).size());
        assertEquals("PEM", texts.get(COMMON + "ssl.truststore.type"));
        assertFalse(texts.containsKey(COMMON + "ssl.truststore.location") || texts.containsKey(COMMON + "ssl.truststore.password"));

        texts = tls(COMMON + "ssl.truststore.location", trustPkcs12.toString(), COMMON + "ssl.truststore.password", STORE);
        JavaStores.toPem(texts);
        assertEquals(1, certificates(texts.get(COMMON + "ssl.truststore.certificates")).size());

        // Java opens a JKS file without a password, and either kind under the name of the other.
        texts = tls(COMMON + "ssl.truststore.location", trustJks.toString(), COMMON + "ssl.truststore.type", "PKCS12",
            COMMON + "ssl.truststore.password", STORE);
        JavaStores.toPem(texts);
        assertEquals(2, certificates(texts.get(COMMON + "ssl.truststore.certificates")).size());
        texts = tls(COMMON + "ssl.truststore.location", trustJks.toString(), COMMON + "ssl.truststore.type", "JKS");
        JavaStores.toPem(texts);
        assertEquals(2, certificates(texts.get(COMMON + "ssl.truststore.certificates")).size());
    }

    @Test
    void keyAndChainBelongTogetherAndNoPasswordIsLeft() throws Exception {
        Map<String, String> texts = tls(COMMON + "ssl.keystore.location", rsaJks.toString(), COMMON + "ssl.keystore.password", STORE,
            COMMON + "ssl.keystore.type", "JKS", COMMON + "ssl.key.password", KEY);
        JavaStores.toPem(texts);
        assertTrue(belong(texts.get(COMMON + "ssl.keystore.key"), texts.get(COMMON + "ssl.keystore.certificate.chain"), "RSA", "SHA256withRSA"));
        assertFalse(texts.toString().contains(KEY) || texts.toString().contains(STORE));

        texts = tls(COMMON + "ssl.keystore.location", ecPkcs12.toString(), COMMON + "ssl.keystore.password", STORE);
        JavaStores.toPem(texts);
        assertTrue(belong(texts.get(COMMON + "ssl.keystore.key"), texts.get(COMMON + "ssl.keystore.certificate.chain"), "EC", "SHA256withECDSA"));
        assertEquals(tls(COMMON + "ssl.keystore.type", "PEM").keySet(), Map.copyOf(texts).keySet().stream()
            .filter(key -> !key.endsWith(".key") && !key.endsWith(".chain")).collect(java.util.stream.Collectors.toSet()));
    }

    @Test
    void aRoleMayHaveItsStoreAndTheCommonPasswordAndType() throws Exception {
        String producer = "remote.log.metadata.producer.";
        Map<String, String> texts = tls(producer + "ssl.truststore.location", trustJks.toString(), COMMON + "ssl.truststore.password", STORE,
            COMMON + "ssl.truststore.type", "JKS");
        JavaStores.toPem(texts);
        assertEquals(2, certificates(texts.get(producer + "ssl.truststore.certificates")).size());
        assertEquals("PEM", texts.get(producer + "ssl.truststore.type"));
        assertFalse(texts.containsKey(COMMON + "ssl.truststore.password"));
    }

    @Test
    void whatIsNoStoreOfJavaIsLeftToTheCore() throws Exception {
        for (String type : new String[] {"PEM", "pem", "NO-SUCH-TYPE"}) {
            Map<String, String> texts = tls(COMMON + "ssl.truststore.location", "/nowhere", COMMON + "ssl.truststore.type", type);
            Map<String, String> before = new TreeMap<>(texts);
            JavaStores.toPem(texts);
            assertEquals(before, texts);
        }
        Map<String, String> plain = new TreeMap<>(Map.of(COMMON + "security.protocol", "SASL_PLAINTEXT", COMMON + "ssl.truststore.location", "/nowhere"));
        JavaStores.toPem(plain);
        assertEquals("/nowhere", plain.get(COMMON + "ssl.truststore.location"));
    }

    @Test
    void whatCannotBeReadIsNamedWithItsKeyAndNeverWithAPassword() throws Exception {
        Path pem = folder.resolve("ca.pem");
        Files.writeString(pem, "-----BEGIN CERTIFICATE-----\n");
        for (String[] wrong : new String[][] {
            {"ssl.truststore.location", folder.resolve("missing.jks").toString(), "ssl.truststore.password", "guessed-it", "missing.jks"},
            {"ssl.truststore.location", trustJks.toString(), "ssl.truststore.password", "guessed-it", "password"},
            {"ssl.truststore.location", pem.toString(), "ssl.truststore.password", "guessed-it", "PEM for a PEM file"},
            {"ssl.truststore.location", trustPkcs12.toString(), "ssl.unused", "x", "no certificate to trust"},
            {"ssl.keystore.location", trustJks.toString(), "ssl.keystore.password", STORE, "no private key"},
            {"ssl.keystore.location", rsaJks.toString(), "ssl.keystore.password", STORE, "ssl.key.password"},
        }) {
            Map<String, String> texts = tls(COMMON + wrong[0], wrong[1], COMMON + wrong[2], wrong[3]);
            NativeException refused = assertThrows(NativeException.class, () -> JavaStores.toPem(texts), wrong[4]);
            assertEquals(Status.CONFIG, refused.code());
            assertTrue(refused.getMessage().startsWith(COMMON + wrong[0] + " = "), refused.getMessage());
            assertTrue(refused.getMessage().contains(wrong[4]), refused.getMessage());
            assertFalse(refused.getMessage().contains("guessed-it") || refused.getMessage().contains(STORE), refused.getMessage());
        }
    }
}

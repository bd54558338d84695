package io.undercroft.broker.cluster;

import io.undercroft.broker.Place;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Keys and certificates in the forms that Kafka's settings take, made by the JDK's keytool (and openssl, which alone hands out a
 * private key as PEM). A broker's certificate names 127.0.0.1.
 */
final class KeyFiles {
    static final String PASSWORD = "not-a-secret";

    final Path brokerKeys;
    final Path brokerTrust;
    final Path trustPem;
    final Path trustPkcs12;
    final Path trustJks;
    final Path clientPem;
    final Path clientPkcs12;
    final Path clientJks;

    KeyFiles(Path folder) throws IOException, InterruptedException {
        Files.createDirectories(folder);
        brokerKeys = keys(folder, "broker", "PKCS12");
        clientPkcs12 = keys(folder, "client", "PKCS12");
        clientJks = folder.resolve("client.jks");
        keytool("-importkeystore", "-srckeystore", clientPkcs12.toString(), "-srcstorepass", PASSWORD, "-destkeystore", clientJks.toString(),
                "-deststoretype", "JKS", "-deststorepass", PASSWORD, "-destkeypass", PASSWORD);
        trustPem = certificate(folder, "broker", brokerKeys);
        Path client = certificate(folder, "client", clientPkcs12);
        brokerTrust = trust(folder.resolve("broker-trust.p12"), "PKCS12", client);
        trustPkcs12 = trust(folder.resolve("trust.p12"), "PKCS12", trustPem);
        trustJks = trust(folder.resolve("trust.jks"), "JKS", trustPem);
        clientPem = folder.resolve("client.pem");
        run(List.of("openssl", "pkcs12", "-in", clientPkcs12.toString(), "-passin", "pass:" + PASSWORD, "-nodes", "-out", clientPem + ".all"));
        // Kafka wants the key as PKCS#8, which `-nodes` writes, and nothing between the blocks.
        String text = Files.readString(Path.of(clientPem + ".all"));
        Files.writeString(clientPem, block(text, "PRIVATE KEY") + block(text, "CERTIFICATE"));
    }

    private static Path keys(Path folder, String name, String type) throws IOException, InterruptedException {
        Path file = folder.resolve(name + "-keys.p12");
        keytool("-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048", "-validity", "30", "-dname", "CN=" + name,
                "-ext", "SAN=ip:127.0.0.1,dns:localhost", "-storetype", type, "-keystore", file.toString(), "-storepass", PASSWORD);
        return file;
    }

    private static Path certificate(Path folder, String name, Path keys) throws IOException, InterruptedException {
        Path file = folder.resolve(name + "-certificate.pem");
        keytool("-exportcert", "-rfc", "-alias", name, "-keystore", keys.toString(), "-storepass", PASSWORD, "-file", file.toString());
        return file;
    }

    private static Path trust(Path file, String type, Path certificate) throws IOException, InterruptedException {
        keytool("-importcert", "-noprompt", "-alias", "trusted", "-file", certificate.toString(), "-storetype", type,
                "-keystore", file.toString(), "-storepass", PASSWORD);
        return file;
    }

    private static String block(String text, String what) {
        String begin = "-----BEGIN " + what + "-----";
        String end = "-----END " + what + "-----";
        return text.substring(text.indexOf(begin), text.indexOf(end) + end.length()) + "\n";
    }

    private static void keytool(String... args) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/keytool").toString()));
        command.addAll(List.of(args));
        run(command);
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        Path out = Files.createTempFile(Place.target(), "keys", ".log");
        Process p = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
        boolean ended = p.waitFor(60, TimeUnit.SECONDS);
        String text = Files.readString(out);
        Files.delete(out);
        if (!ended || p.exitValue() != 0) {
            throw new IOException(String.join(" ", command) + "\n" + text);
        }
    }
}

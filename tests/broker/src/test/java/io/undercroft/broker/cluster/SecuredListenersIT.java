package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Place;
import io.undercroft.broker.TieredTopic;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The metadata side's clients on a listener with a login, with encryption, and with rights. A quarter of a minute each. */
class SecuredListenersIT {
    private static final String CLIENT = "rlmm.config.remote.log.metadata.common.client.";
    private static final String LISTENER = "listener.name.meta.";
    private static final String USER = "tiering";
    private static final String SECRET = "not-a-secret";
    private static final long EACH = 2_200;

    @ParameterizedTest
    @ValueSource(strings = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
    void a_login_over_a_plain_connection_works(String mechanism) throws Exception {
        Map<String, String> settings = login(mechanism, SECRET);
        try (Cluster cluster = new Cluster("login", wish("SASL_PLAINTEXT", settings)).start()) {
            if (!mechanism.equals("PLAIN")) {
                user(cluster, ScramMechanism.fromMechanismName(mechanism), SECRET);
            }
            mustTier(cluster);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"trust PEM", "trust PKCS12", "trust JKS", "both PEM", "both PKCS12", "both JKS"})
    void encryption_works_with_stores_of_each_kind_and_with_a_certificate_of_the_client(String kind) throws Exception {
        Path folder = Place.freshFolder("cluster-ssl");
        KeyFiles files = new KeyFiles(folder.resolve("keys"));
        boolean isMutual = kind.startsWith("both");
        Map<String, String> settings = server(files, isMutual);
        settings.put(CLIENT + "security.protocol", "SSL");
        settings.putAll(trust(files, kind.split(" ")[1]));
        if (isMutual) {
            settings.putAll(keys(files, kind.split(" ")[1]));
        }
        try (Cluster cluster = new Cluster(folder, wish("SSL", settings)).start()) {
            mustTier(cluster);
        }
    }

    @Test
    void a_login_over_an_encrypted_connection_works() throws Exception {
        Path folder = Place.freshFolder("cluster-sasl-ssl");
        KeyFiles files = new KeyFiles(folder.resolve("keys"));
        Map<String, String> settings = login("SCRAM-SHA-512", SECRET);
        settings.putAll(server(files, false));
        settings.put(CLIENT + "security.protocol", "SASL_SSL");
        settings.putAll(trust(files, "PEM"));
        try (Cluster cluster = new Cluster(folder, wish("SASL_SSL", settings)).start()) {
            user(cluster, ScramMechanism.SCRAM_SHA_512, SECRET);
            mustTier(cluster);
        }
    }

    @Test
    void a_wrong_password_is_said_once_and_works_as_soon_as_it_is_the_right_one() throws Exception {
        Map<String, String> settings = login("SCRAM-SHA-512", SECRET);
        try (Cluster cluster = new Cluster("wrong-password", wish("SASL_PLAINTEXT", settings)).start()) {
            Broker broker = cluster.broker(1);
            user(cluster, ScramMechanism.SCRAM_SHA_512, "another");
            try (TieredTopic topic = TieredTopic.create(cluster, "password", 1, 1 << 20, 1000)) {
                topic.produce(EACH);
                Watch watch = new Watch(broker);
                Watch.awaitNotReady(broker);
                Await.until("an error about the login", Cluster.SOON, () -> broker.logText().lines()
                        .anyMatch(l -> l.contains("ERROR") && l.toLowerCase(java.util.Locale.ROOT).contains("authenticat")));
                Watch.stays("the broker ended", Duration.ofSeconds(10), broker::isAlive);
                watch.mustBeQuiet();
                user(cluster, ScramMechanism.SCRAM_SHA_512, SECRET);
                topic.awaitOnlyRemote(Cluster.SOON);
                assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
            }
        }
    }

    @Test
    void rights_that_are_refused_are_said_once_nothing_is_written_and_it_works_as_soon_as_they_are_given() throws Exception {
        Map<String, String> settings = login("PLAIN", SECRET);
        Cluster.Wish wish = wish("SASL_PLAINTEXT", settings)
                .with("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
                .with("super.users", "User:ANONYMOUS");
        try (Cluster cluster = new Cluster("no-rights", wish).start()) {
            Broker broker = cluster.broker(1);
            Watch watch = new Watch(broker);
            try (TieredTopic topic = TieredTopic.create(cluster, "rights", 1, 1 << 20, 1000)) {
                topic.produce(EACH);
                Watch.awaitNotReady(broker);
                Await.until("an error about rights", Cluster.SOON, () -> broker.logText().lines()
                        .anyMatch(l -> l.contains("ERROR") && l.toLowerCase(java.util.Locale.ROOT).contains("authoriz")));
                Watch.stays("it was ready", Duration.ofSeconds(8), () -> broker.isAlive() && !Watch.isReady(broker));
                watch.mustBeQuiet();

                // All but the right to write: the topic is made, and its level cannot be written into it.
                allow(cluster, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.READ);
                Await.until("the metadata topic", Cluster.SOON, () -> cluster.admin().listTopics().names().get().contains(Cluster.METADATA_TOPIC));
                Watch.stays("something was copied that could not be written down", Duration.ofSeconds(8),
                        () -> topic.offsets(OffsetSpec.latestTiered()).get(0) < 0);
                assertTrue(MetadataTopic.segments(MetadataTopic.read(cluster.bootstrap()), topic.name()).isEmpty(), "an add was refused and written");
                assertTrue(cluster.store.objects().isEmpty(), () -> "objects of segments that were never added");

                allow(cluster, AclOperation.WRITE);
                topic.awaitOnlyRemote(Cluster.SOON);
                assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
            }
        }
    }

    private static Cluster.Wish wish(String protocol, Map<String, String> settings) {
        return new Cluster.Wish().size(1).second(new Cluster.SecondListener(protocol, settings));
    }

    private static Map<String, String> login(String mechanism, String password) {
        Map<String, String> p = new LinkedHashMap<>();
        boolean isPlain = mechanism.equals("PLAIN");
        String module = "org.apache.kafka.common.security." + (isPlain ? "plain.Plain" : "scram.Scram") + "LoginModule required";
        String prefix = LISTENER + mechanism.toLowerCase(java.util.Locale.ROOT) + ".";
        p.put(LISTENER + "sasl.enabled.mechanisms", mechanism);
        p.put(prefix + "sasl.jaas.config", module + (isPlain ? " user_" + USER + "=\"" + SECRET + "\";" : ";"));
        p.put(CLIENT + "security.protocol", "SASL_PLAINTEXT");
        p.put(CLIENT + "sasl.mechanism", mechanism);
        p.put(CLIENT + "sasl.jaas.config", module + " username=\"" + USER + "\" password=\"" + password + "\";");
        return p;
    }

    private static Map<String, String> server(KeyFiles files, boolean isMutual) {
        Map<String, String> p = new LinkedHashMap<>();
        p.put(LISTENER + "ssl.keystore.location", files.brokerKeys.toString());
        p.put(LISTENER + "ssl.keystore.type", "PKCS12");
        p.put(LISTENER + "ssl.keystore.password", KeyFiles.PASSWORD);
        p.put(LISTENER + "ssl.key.password", KeyFiles.PASSWORD);
        p.put(LISTENER + "ssl.truststore.location", files.brokerTrust.toString());
        p.put(LISTENER + "ssl.truststore.type", "PKCS12");
        p.put(LISTENER + "ssl.truststore.password", KeyFiles.PASSWORD);
        p.put(LISTENER + "ssl.client.auth", isMutual ? "required" : "none");
        return p;
    }

    private static Map<String, String> trust(KeyFiles files, String type) {
        Map<String, String> p = new LinkedHashMap<>();
        p.put(CLIENT + "ssl.truststore.type", type);
        p.put(CLIENT + "ssl.truststore.location", switch (type) {
            case "PEM" -> files.trustPem.toString();
            case "PKCS12" -> files.trustPkcs12.toString();
            default -> files.trustJks.toString();
        });
        if (!type.equals("PEM")) {
            p.put(CLIENT + "ssl.truststore.password", KeyFiles.PASSWORD);
        }
        return p;
    }

    private static Map<String, String> keys(KeyFiles files, String type) throws java.io.IOException {
        Map<String, String> p = new LinkedHashMap<>();
        p.put(CLIENT + "ssl.keystore.type", type);
        p.put(CLIENT + "ssl.keystore.location", switch (type) {
            case "PEM" -> files.clientPem.toString();
            case "PKCS12" -> files.clientPkcs12.toString();
            default -> files.clientJks.toString();
        });
        if (!type.equals("PEM")) {
            p.put(CLIENT + "ssl.keystore.password", KeyFiles.PASSWORD);
            p.put(CLIENT + "ssl.key.password", KeyFiles.PASSWORD);
        }
        assertTrue(Files.size(files.clientPem) > 0);
        return p;
    }

    private static void user(Cluster cluster, ScramMechanism mechanism, String password) throws Exception {
        cluster.admin().alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(USER,
                new ScramCredentialInfo(mechanism, 4096), password))).all().get();
    }

    private static void allow(Cluster cluster, AclOperation... operations) throws Exception {
        ResourcePattern topics = new ResourcePattern(ResourceType.TOPIC, "*", PatternType.LITERAL);
        List<AclBinding> acls = new java.util.ArrayList<>();
        for (AclOperation operation : Set.of(operations)) {
            acls.add(new AclBinding(topics, new AccessControlEntry("User:" + USER, "*", operation, AclPermissionType.ALLOW)));
        }
        cluster.admin().createAcls(acls).all().get();
    }

    private static void mustTier(Cluster cluster) throws Exception {
        try (TieredTopic topic = TieredTopic.create(cluster, "secured", 1, 1 << 20, 1000)) {
            topic.produce(EACH);
            topic.awaitOnlyRemote(Cluster.SOON);
            assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
        }
    }
}

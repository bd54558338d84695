use super::*;

const PREFIX: &str = "remote.log.metadata.common.client.";
const PLAIN: &str =
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"SECRET\";";
const SCRAM: &str =
    "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"u\" password=\"SECRET\";";

fn java(settings: &[(&str, &str)]) -> JavaSettings {
    let mut java = JavaSettings::new(PREFIX);
    java.set(PREFIX, "bootstrap.servers", "localhost:9092");
    for (name, value) in settings {
        java.set(PREFIX, name, value);
    }
    java
}

fn done(role: Role, settings: &[(&str, &str)]) -> Translated {
    translate(role, &java(settings)).unwrap()
}

fn refused(settings: &[(&str, &str)]) -> ConfigError {
    let error = translate(Role::Admin, &java(settings)).unwrap_err();
    assert!(!error.to_string().contains("SECRET"), "{error}");
    assert!(error.to_string().contains(PREFIX), "{error}");
    error
}

#[test]
fn a_missing_address_says_which_broker_setting_gives_it() {
    let error = translate(Role::Admin, &JavaSettings::new(PREFIX)).unwrap_err().to_string();
    assert!(error.contains("remote.log.metadata.common.client.bootstrap.servers"), "{error}");
    assert!(error.contains("remote.log.metadata.manager.listener.name"), "{error}");
}

#[test]
fn names_that_differ_are_translated_and_units_too() {
    let producer = done(
        Role::Producer,
        &[("delivery.timeout.ms", "9000"), ("buffer.memory", "1048576"), ("request.timeout.ms", "7000")],
    );
    assert_eq!(producer.get("message.timeout.ms"), Some("9000"));
    assert_eq!(producer.get("queue.buffering.max.kbytes"), Some("1024"));
    assert_eq!(producer.get("socket.timeout.ms"), Some("7000"));
    assert_eq!(done(Role::Consumer, &[("fetch.max.wait.ms", "20")]).get("fetch.wait.max.ms"), Some("20"));
    assert!(producer.warnings.is_empty());
}

#[test]
fn a_setting_of_another_role_is_passed_over_in_silence() {
    let consumer = done(Role::Consumer, &[("linger.ms", "5"), ("acks", "1")]);
    assert_eq!(consumer.get("linger.ms"), None);
    assert!(consumer.warnings.is_empty(), "{:?}", consumer.warnings);
}

#[test]
fn what_only_java_has_is_left_out_with_a_warning() {
    let settings = [("key.serializer", "x.Y"), ("max.poll.records", "5"), ("metric.reporters", ""), ("acks", "1")];
    let producer = done(Role::Producer, &settings);
    assert_eq!(producer.warnings.len(), settings.len(), "{:?}", producer.warnings);
    for (name, _) in settings {
        assert_eq!(producer.get(name), None);
        assert!(producer.warnings.iter().any(|warning| warning.starts_with(&format!("{PREFIX}{name} "))));
    }
}

#[test]
fn the_reader_asks_leaders_alone_because_followers_end_earlier() {
    let consumer = done(Role::Consumer, &[("client.rack", "a")]);
    assert_eq!(consumer.get("client.rack"), None);
    assert!(consumer.warnings.iter().any(|warning| warning.contains("client.rack")), "{:?}", consumer.warnings);
}

#[test]
fn plain_and_scram_logins_become_user_and_password() {
    for (mechanism, jaas) in [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("scram-sha-512", SCRAM)] {
        let out = done(
            Role::Admin,
            &[("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)],
        );
        assert_eq!(out.get("security.protocol"), Some("sasl_plaintext"));
        assert_eq!(out.get("sasl.mechanisms"), Some(mechanism.to_ascii_uppercase().as_str()));
        assert_eq!(out.get("sasl.username"), Some("u"));
        assert_eq!(out.get("sasl.password"), Some("SECRET"));
        assert!(!format!("{out:?}").contains("SECRET"));
    }
}

#[test]
fn logins_that_cannot_be_honoured_are_refused_by_name() {
    let krb = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true password=\"SECRET\";";
    let custom = "com.acme.LoginModule required password=\"SECRET\";";
    for (mechanism, jaas, named) in [
        ("GSSAPI", krb, "GSSAPI"),
        ("OAUTHBEARER", "x.OAuthBearerLoginModule required;", "OAUTHBEARER"),
        ("AWS_MSK_IAM", custom, "AWS_MSK_IAM"),
        ("PLAIN", krb, "Krb5LoginModule"),
        ("PLAIN", custom, "com.acme.LoginModule"),
        ("PLAIN", SCRAM, "ScramLoginModule"),
        ("PLAIN", "a.PlainLoginModule required username=\"u\" password=\"SECRET", "quote"),
        ("PLAIN", "a.PlainLoginModule required username=\"u\";", "password"),
    ] {
        let error =
            refused(&[("security.protocol", "SASL_SSL"), ("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)]);
        assert!(error.to_string().contains(named), "{error}");
    }
    let sasl = ("security.protocol", "SASL_SSL");
    assert!(matches!(refused(&[sasl]), ConfigError::Missing { .. }));
    assert!(matches!(refused(&[sasl, ("sasl.mechanism", "PLAIN")]), ConfigError::Missing { .. }));
    let login = [sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", PLAIN)];
    for name in ["sasl.login.class", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"] {
        let mut settings = login.to_vec();
        settings.push((name, "com.acme.X"));
        assert!(matches!(refused(&settings), ConfigError::Unsupported { .. }));
    }
}

#[test]
fn pem_and_pkcs12_stores_are_taken() {
    let ssl = ("security.protocol", "SSL");
    let inline = done(
        Role::Admin,
        &[
            ssl,
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.certificates", "CA"),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.certificate.chain", "CHAIN"),
            ("ssl.keystore.key", "SECRET"),
            ("ssl.key.password", "SECRET"),
        ],
    );
    assert_eq!(inline.get("ssl.ca.pem"), Some("CA"));
    assert_eq!(inline.get("ssl.certificate.pem"), Some("CHAIN"));
    assert_eq!(inline.get("ssl.key.pem"), Some("SECRET"));
    assert_eq!(inline.get("ssl.key.password"), Some("SECRET"));
    assert!(!format!("{inline:?}").contains("SECRET"));

    let files = done(
        Role::Admin,
        &[
            ssl,
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.location", "/ca.pem"),
            ("ssl.keystore.location", "/me.p12"),
            ("ssl.keystore.password", "SECRET"),
            ("ssl.key.password", "SECRET"),
        ],
    );
    assert_eq!(files.get("ssl.ca.location"), Some("/ca.pem"));
    assert_eq!(files.get("ssl.keystore.location"), Some("/me.p12"));
    assert_eq!(files.get("ssl.keystore.password"), Some("SECRET"));
    assert_eq!(files.get("ssl.key.password"), None);

    let pem = done(Role::Admin, &[ssl, ("ssl.keystore.type", "PEM"), ("ssl.keystore.location", "/me.pem")]);
    assert_eq!(pem.get("ssl.certificate.location"), Some("/me.pem"));
    assert_eq!(pem.get("ssl.key.location"), Some("/me.pem"));
}

#[test]
fn stores_that_only_java_reads_are_refused_with_the_remedy() {
    for settings in [
        vec![("ssl.truststore.location", "/trust.jks"), ("ssl.truststore.password", "SECRET")],
        vec![("ssl.truststore.location", "/trust.p12"), ("ssl.truststore.type", "PKCS12")],
        vec![("ssl.keystore.location", "/me.jks"), ("ssl.keystore.password", "SECRET")],
        vec![("ssl.keystore.location", "/me.p12"), ("ssl.keystore.type", "JKS")],
    ] {
        let mut all = vec![("security.protocol", "SSL")];
        all.extend(settings);
        let error = refused(&all).to_string();
        assert!(error.contains("convert it to PEM"), "{error}");
    }
}

#[test]
fn an_empty_endpoint_algorithm_switches_the_check_off() {
    let algorithm = |value| {
        let settings = [("security.protocol", "SSL"), ("ssl.endpoint.identification.algorithm", value)];
        done(Role::Admin, &settings).get("ssl.endpoint.identification.algorithm").map(str::to_owned)
    };
    assert_eq!(algorithm("").as_deref(), Some("none"));
    assert_eq!(algorithm("https").as_deref(), Some("https"));
    let unset = done(Role::Admin, &[("security.protocol", "SSL")]);
    assert_eq!(unset.get("ssl.endpoint.identification.algorithm"), None, "librdkafka's default is https as Java's");
}

#[test]
fn a_security_setting_that_cannot_be_honoured_is_never_ignored() {
    for (name, value) in [
        ("ssl.cipher.suites", "TLS_RSA_WITH_AES_128_CBC_SHA"),
        ("ssl.enabled.protocols", "TLSv1.3"),
        ("ssl.protocol", "SSLv3"),
        ("ssl.provider", "BC"),
        ("ssl.engine.factory.class", "com.acme.X"),
        ("ssl.something.new", "x"),
        ("ssl.keystore.type", "BCFKS"),
        ("ssl.endpoint.identification.algorithm", "ldaps"),
        ("security.providers", "com.acme.X"),
    ] {
        let mut settings = vec![("security.protocol", "SSL"), (name, value)];
        if name == "ssl.keystore.type" {
            settings.push(("ssl.keystore.location", "/me.bcfks"));
        }
        assert!(matches!(refused(&settings), ConfigError::Unsupported { .. }), "{name}");
    }
    for (name, value) in [
        ("ssl.protocol", "TLSv1.3"),
        ("ssl.enabled.protocols", "TLSv1.2,TLSv1.3"),
        ("ssl.keymanager.algorithm", "SunX509"),
        ("ssl.trustmanager.algorithm", "PKIX"),
    ] {
        assert!(done(Role::Admin, &[("security.protocol", "SSL"), (name, value)]).warnings.is_empty(), "{name}");
    }
}

#[test]
fn security_settings_without_effect_are_named_not_used() {
    let out = done(Role::Admin, &[("sasl.jaas.config", PLAIN), ("ssl.truststore.location", "/trust.jks")]);
    assert_eq!(out.get("sasl.password"), None);
    assert_eq!(out.warnings.len(), 2, "{:?}", out.warnings);
    assert!(!out.warnings.join(" ").contains("SECRET"));
}

#[test]
fn an_unknown_protocol_is_refused() {
    assert!(matches!(refused(&[("security.protocol", "TLS")]), ConfigError::BadValue { .. }));
}

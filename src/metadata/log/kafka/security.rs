//! Java's security settings in librdkafka's words. What cannot be honoured is refused: a client that silently speaks
//! with less protection than it was told to is worse than one that doesn't start.

use super::jaas;
use super::translate::{JavaSettings, Translated};
use crate::config::ConfigError;

/// The settings of login and encryption.
pub(super) fn translate(java: &JavaSettings, out: &mut Translated) -> Result<(), ConfigError> {
    let protocol = java.value("security.protocol").unwrap_or("PLAINTEXT").trim().to_ascii_uppercase();
    let (uses_tls, uses_sasl) = match protocol.as_str() {
        "PLAINTEXT" => (false, false),
        "SSL" => (true, false),
        "SASL_PLAINTEXT" => (false, true),
        "SASL_SSL" => (true, true),
        _ => {
            return Err(java.bad("security.protocol", "no such protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"));
        }
    };
    out.push("security.protocol", &protocol.to_ascii_lowercase(), &java.key("security.protocol"));
    for name in java.names().filter(|name| is_security(name)) {
        let used = if name.starts_with("sasl.") { uses_sasl } else { uses_tls || !name.starts_with("ssl.") };
        if !used {
            out.warn(&java.key(name), &format!("has no effect with security.protocol={protocol}"));
        }
    }
    if java.value("security.providers").is_some_and(|value| !value.trim().is_empty()) {
        return Err(java.unsupported("security.providers", "security providers exist in Java only"));
    }
    if uses_tls {
        tls(java, out)?;
    }
    if uses_sasl {
        sasl(java, out)?;
    }
    Ok(())
}

/// Whether this module answers for a setting.
pub(super) fn is_security(name: &str) -> bool {
    name.starts_with("ssl.") || name.starts_with("sasl.") || name.starts_with("security.")
}

/// Whether a librdkafka property's value must never be shown.
pub(super) fn is_secret(property: &str) -> bool {
    property.contains("password") || property.contains("key.pem") || property.contains("jaas")
}

const WITHOUT_MEANING_HERE: &[&str] = &[
    // Kerberos' and OAuth's timing; both logins are refused by name.
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.login.retry.backoff.max.ms",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
];

fn sasl(java: &JavaSettings, out: &mut Translated) -> Result<(), ConfigError> {
    let mechanism = match java.value("sasl.mechanism").or_else(|| java.value("sasl.mechanisms")) {
        Some(mechanism) => mechanism.trim().to_ascii_uppercase(),
        None => {
            return Err(ConfigError::Missing {
                key: java.key("sasl.mechanism"),
                why: "Java's default is GSSAPI, which is not built in; set PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
                    .to_owned(),
            });
        }
    };
    if !matches!(mechanism.as_str(), "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512") {
        let why = "this mechanism is not built in; use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or keep the records with the host";
        return Err(java.unsupported("sasl.mechanism", why));
    }
    for name in java.names().filter(|name| name.starts_with("sasl.")) {
        match name {
            "sasl.mechanism" | "sasl.mechanisms" | "sasl.jaas.config" | "sasl.username" | "sasl.password" => {}
            _ if WITHOUT_MEANING_HERE.contains(&name) || name.starts_with("sasl.oauthbearer.") => {
                out.warn(&java.key(name), &format!("has no effect with {mechanism}"));
            }
            "sasl.kerberos.service.name" => out.warn(&java.key(name), &format!("has no effect with {mechanism}")),
            _ => return Err(java.unsupported(name, "it names Java code or something else that only a Java client has")),
        }
    }
    out.push("sasl.mechanisms", &mechanism, &java.key("sasl.mechanism"));
    match java.value("sasl.jaas.config") {
        Some(text) => credentials(java, text, &mechanism, out),
        None => match (java.value("sasl.username"), java.value("sasl.password")) {
            (Some(user), Some(password)) => {
                out.push("sasl.username", user, &java.key("sasl.username"));
                out.push("sasl.password", password, &java.key("sasl.password"));
                Ok(())
            }
            _ => Err(ConfigError::Missing {
                key: java.key("sasl.jaas.config"),
                why: format!("{mechanism} needs a user and a password"),
            }),
        },
    }
}

fn credentials(java: &JavaSettings, text: &str, mechanism: &str, out: &mut Translated) -> Result<(), ConfigError> {
    let key = java.key("sasl.jaas.config");
    let module = jaas::parse(text).map_err(|why| ConfigError::BadValue {
        key: key.clone(),
        value: "[hidden]".to_owned(),
        why,
        range: "<login module class> required <name>=\"<value>\" …;".to_owned(),
    })?;
    let refused =
        |why: &str| ConfigError::Unsupported { key: key.clone(), value: module.class.clone(), why: why.to_owned() };
    match (module.class.rsplit('.').next().unwrap_or_default(), mechanism) {
        ("PlainLoginModule", "PLAIN") | ("ScramLoginModule", "SCRAM-SHA-256" | "SCRAM-SHA-512") => {}
        ("PlainLoginModule" | "ScramLoginModule", _) => {
            return Err(refused(&format!("this login module does not speak {mechanism}")));
        }
        ("Krb5LoginModule", _) => return Err(refused("Kerberos is not built in")),
        ("OAuthBearerLoginModule", _) => return Err(refused("OAUTHBEARER is not built in")),
        _ => return Err(refused("a login module other than PlainLoginModule and ScramLoginModule is Java code")),
    }
    for name in module.options.keys() {
        if !matches!(name.as_str(), "username" | "password" | "serviceName") {
            return Err(refused(&format!("its option `{name}` is not supported")));
        }
    }
    for (option, property) in [("username", "sasl.username"), ("password", "sasl.password")] {
        let value = module.options.get(option).ok_or_else(|| ConfigError::Missing {
            key: key.clone(),
            why: format!("its login module has no option `{option}`"),
        })?;
        out.push(property, value, &key);
    }
    Ok(())
}

fn tls(java: &JavaSettings, out: &mut Translated) -> Result<(), ConfigError> {
    trust(java, out)?;
    identity(java, out)?;
    for name in java.names().filter(|name| name.starts_with("ssl.")) {
        let value = java.value(name).unwrap_or_default().trim();
        match name {
            "ssl.endpoint.identification.algorithm" => {
                let algorithm = match value.to_ascii_lowercase().as_str() {
                    "" | "none" => "none",
                    "https" => "https",
                    _ => return Err(java.unsupported(name, "only `https` and the empty value are known")),
                };
                out.push(name, algorithm, &java.key(name));
            }
            "ssl.protocol" => allow(java, name, value, &["TLS", "TLSv1.2", "TLSv1.3"])?,
            "ssl.enabled.protocols" => {
                let mut versions: Vec<&str> = value.split(',').map(str::trim).filter(|v| !v.is_empty()).collect();
                versions.sort_unstable();
                if !versions.is_empty() && versions != ["TLSv1.2", "TLSv1.3"] {
                    return Err(java.unsupported(name, "TLS 1.2 and 1.3 are both enabled, always"));
                }
            }
            "ssl.keymanager.algorithm" => allow(java, name, value, &["SunX509"])?,
            "ssl.trustmanager.algorithm" => allow(java, name, value, &["PKIX"])?,
            "ssl.provider" | "ssl.secure.random.implementation" | "ssl.cipher.suites" if value.is_empty() => {}
            "ssl.provider" | "ssl.secure.random.implementation" | "ssl.engine.factory.class" => {
                return Err(java.unsupported(name, "it names Java code"));
            }
            "ssl.cipher.suites" => {
                return Err(java.unsupported(name, "Java's names of cipher suites are not OpenSSL's; leave it out"));
            }
            // librdkafka's own, for hosts that think in its words.
            "ssl.ca.location"
            | "ssl.ca.pem"
            | "ssl.certificate.location"
            | "ssl.certificate.pem"
            | "ssl.key.location"
            | "ssl.key.pem"
            | "ssl.crl.location"
            | "ssl.sigalgs.list"
            | "ssl.curves.list" => {
                out.push(name, value, &java.key(name));
            }
            _ if name.starts_with("ssl.truststore.")
                || name.starts_with("ssl.keystore.")
                || name == "ssl.key.password" => {}
            _ => return Err(java.unsupported(name, "a native client has nothing like it")),
        }
    }
    Ok(())
}

fn allow(java: &JavaSettings, name: &str, value: &str, allowed: &[&str]) -> Result<(), ConfigError> {
    if value.is_empty() || allowed.contains(&value) {
        return Ok(());
    }
    Err(java.unsupported(name, "a native client has nothing like it; leave it out"))
}

/// What a store's file is; Java's default is JKS.
enum StoreKind {
    Pem,
    Pkcs12,
    Jks,
}

fn kind(java: &JavaSettings, store: &str) -> Result<StoreKind, ConfigError> {
    let name = format!("ssl.{store}.type");
    let location = java.value(&format!("ssl.{store}.location")).unwrap_or_default().to_ascii_lowercase();
    match java.value(&name).map(|kind| kind.trim().to_ascii_uppercase()).as_deref() {
        Some("PEM") => Ok(StoreKind::Pem),
        Some("PKCS12") => Ok(StoreKind::Pkcs12),
        // Java opens a PKCS12 file under the name JKS too, so a file's name may decide where no type was set.
        None if [".p12", ".pfx", ".pkcs12"].iter().any(|end| location.ends_with(end)) => Ok(StoreKind::Pkcs12),
        None if java.value(&format!("ssl.{store}.location")).is_none() => Ok(StoreKind::Pem),
        None | Some("JKS") => Ok(StoreKind::Jks),
        Some(_) => Err(java.unsupported(&name, "only PEM (and PKCS12 for key stores) can be read")),
    }
}

const TO_PEM: &str = "this kind of file can be read by Java only; convert it to PEM (keytool -importkeystore to PKCS12, then \
                      openssl pkcs12) and set the store's type to PEM";

fn trust(java: &JavaSettings, out: &mut Translated) -> Result<(), ConfigError> {
    let (location, inline) = ("ssl.truststore.location", "ssl.truststore.certificates");
    match kind(java, "truststore")? {
        StoreKind::Pem => {}
        StoreKind::Pkcs12 | StoreKind::Jks if java.value(location).is_some() => {
            return Err(java.unsupported(location, TO_PEM));
        }
        StoreKind::Pkcs12 | StoreKind::Jks => {}
    }
    if java.value("ssl.truststore.password").is_some() && java.value(location).is_none() {
        return Err(java.unsupported("ssl.truststore.password", "there is no store file that it could open"));
    }
    if let Some(path) = java.value(location) {
        if java.value("ssl.truststore.password").is_some() {
            return Err(java.unsupported("ssl.truststore.password", "a PEM store has no password"));
        }
        out.push("ssl.ca.location", path, &java.key(location));
    }
    if let Some(pem) = java.value(inline) {
        out.push("ssl.ca.pem", pem, &java.key(inline));
    }
    Ok(())
}

fn identity(java: &JavaSettings, out: &mut Translated) -> Result<(), ConfigError> {
    let (location, store_password, key_password) =
        ("ssl.keystore.location", "ssl.keystore.password", "ssl.key.password");
    if let Some(path) = java.value(location) {
        match kind(java, "keystore")? {
            StoreKind::Pem => {
                if java.value(store_password).is_some() {
                    return Err(java.unsupported(store_password, "a PEM store has no password but that of its key"));
                }
                out.push("ssl.certificate.location", path, &java.key(location));
                out.push("ssl.key.location", path, &java.key(location));
                push_secret(java, key_password, "ssl.key.password", out);
            }
            StoreKind::Pkcs12 => {
                if java.value(key_password).is_some_and(|key| Some(key) != java.value(store_password)) {
                    return Err(java.unsupported(key_password, "key and PKCS12 store must have the same password"));
                }
                out.push(location, path, &java.key(location));
                push_secret(java, store_password, "ssl.keystore.password", out);
            }
            StoreKind::Jks => return Err(java.unsupported(location, TO_PEM)),
        }
        return Ok(());
    }
    if java.value(store_password).is_some() {
        return Err(java.unsupported(store_password, "there is no store file that it could open"));
    }
    for (name, property) in [
        ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
        ("ssl.keystore.key", "ssl.key.pem"),
        (key_password, "ssl.key.password"),
    ] {
        push_secret(java, name, property, out);
    }
    Ok(())
}

fn push_secret(java: &JavaSettings, name: &str, property: &str, out: &mut Translated) {
    if let Some(value) = java.value(name) {
        out.push(property, value, &java.key(name));
    }
}

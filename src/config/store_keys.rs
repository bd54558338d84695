//! Keys of the storage side that say how a store is reached and who asks. Names that Aiven's plugin has mean here what
//! they mean there.

use super::{Key, Kind, Side};

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>, text: &'static str) -> Key {
    Key { name, side: Side::Storage, kind, default, text }
}

/// Session token.
pub static AWS_SESSION_TOKEN: Key = key(
    "storage.aws.session.token",
    Kind::Password,
    None,
    "Session token of temporary credentials: of `storage.aws.access.key.id`.",
);
/// A properties file with the keys.
pub static AWS_CREDENTIALS_FILE: Key = key(
    "storage.aws.credentials.file",
    Kind::Text,
    None,
    "Properties file with `aws.access.key.id`, `aws.secret.access.key` and perhaps `aws.session.token`, each also with `storage.` or `rsm.config.storage.` in front. It is read again when it changes: the next request has the new keys. Excludes the keys themselves and `storage.aws.credentials.provider.class`.",
);
/// Where credentials come from.
pub static AWS_PROVIDER: Key = key(
    "storage.aws.credentials.provider.class",
    Kind::Text,
    None,
    "Where credentials come from: `default` (environment, profile, SSO, web identity, container, instance), `environment`, `profile`, `instance`, `container`, `web.identity`, `static` or `anonymous`. The class names of the AWS SDK for Java 2 for these are understood too; any other class is refused. Without it: the keys if they are set, else `default`.",
);
/// Which profile.
pub static AWS_PROFILE: Key = key(
    "storage.aws.profile",
    Kind::Text,
    None,
    "Profile in the AWS configuration and credentials files, in the place of `AWS_PROFILE`.",
);
/// A role to take on.
pub static AWS_ROLE: Key = key(
    "storage.aws.role.arn",
    Kind::Text,
    None,
    "Role that is assumed with the credentials found, through STS of `storage.s3.region`. For web identity (IRSA), whose role is in the environment, it isn't needed.",
);
/// The external id that the role's owner asks for.
pub static AWS_ROLE_EXTERNAL_ID: Key =
    key("storage.aws.role.external.id", Kind::Password, None, "External id for `storage.aws.role.arn`.");
/// Name of the session.
pub static AWS_ROLE_SESSION: Key = key(
    "storage.aws.role.session.name",
    Kind::Text,
    Some("undercroft"),
    "Name under which the sessions of `storage.aws.role.arn` appear in logs of AWS.",
);
/// Lifetime of a session.
pub static AWS_ROLE_SECONDS: Key = key(
    "storage.aws.role.session.duration.seconds",
    Kind::Integer { min: 900, max: 43_200 },
    Some("3600"),
    "Seconds for which a session of `storage.aws.role.arn` holds. A new one is begun two minutes before its end.",
);
/// Checksums of requests.
pub static AWS_CHECKSUM: Key = key(
    "storage.aws.checksum.check.enabled",
    Kind::Boolean,
    Some("false"),
    "`true` sends a CRC32C with each object and part, which the store checks; buckets with Object Lock ask for one. Older relatives of S3 don't know it. What is read is always checked, against checksums of our own.",
);
/// Encryption by the store.
pub static S3_ENCRYPTION: Key = key(
    "storage.s3.server.side.encryption",
    Kind::Text,
    None,
    "Encryption by the store: `AES256` (SSE-S3), `aws:kms` or `aws:kms:dsse` (SSE-KMS), `customer` (SSE-C). Without it, what the bucket does by default.",
);
/// Key of SSE-KMS.
pub static S3_KMS_KEY: Key = key(
    "storage.s3.server.side.encryption.kms.key.id",
    Kind::Text,
    None,
    "Id or ARN of the key of SSE-KMS. Without it, the account's key for S3.",
);
/// Key of SSE-C.
pub static S3_CUSTOMER_KEY: Key = key(
    "storage.s3.server.side.encryption.customer.key",
    Kind::Password,
    None,
    "Key of SSE-C: 32 bytes in base64. Sent with each request, so use it over https only; objects can't be read without it.",
);
/// Who pays.
pub static S3_REQUESTER_PAYS: Key = key(
    "storage.s3.requester.pays.enabled",
    Kind::Boolean,
    Some("false"),
    "`true` agrees to pay for requests to a bucket of somebody else.",
);
/// Bucket of the GCS store.
pub static GCS_BUCKET: Key =
    key("storage.gcs.bucket.name", Kind::Text, None, "Bucket of the `gcs` store. It must exist. Required there.");
/// Endpoint of a stand-in of GCS.
pub static GCS_ENDPOINT: Key = key(
    "storage.gcs.endpoint.url",
    Kind::Text,
    None,
    "Endpoint with scheme, such as that of a private connection or of a test server. Without it, `https://storage.googleapis.com`.",
);
/// Size of parts.
pub static GCS_CHUNK_SIZE: Key = key(
    "storage.gcs.resumable.upload.chunk.size",
    Kind::Integer { min: 262_144, max: 2_147_483_639 },
    Some("8388608"),
    "Bytes in a part of an upload, as `storage.s3.multipart.upload.part.size`; less than 5 MiB counts as that.",
);
/// Credentials in place.
pub static GCS_JSON: Key = key(
    "storage.gcs.credentials.json",
    Kind::Password,
    None,
    "Credentials as JSON: a service account, a workload identity federation, an impersonated account, or `{\"access_token\": …}`. Exactly one of this, `storage.gcs.credentials.path` and `storage.gcs.credentials.default`.",
);
/// Credentials in a file.
pub static GCS_PATH: Key = key(
    "storage.gcs.credentials.path",
    Kind::Text,
    None,
    "File with credentials as in `storage.gcs.credentials.json`. It is read again when it changes.",
);
/// Credentials where Google's libraries look for them.
pub static GCS_DEFAULT: Key = key(
    "storage.gcs.credentials.default",
    Kind::Boolean,
    None,
    "`true` takes application default credentials: the file named by `GOOGLE_APPLICATION_CREDENTIALS`, that of `gcloud`, or the machine's own account (workload identity). `false` asks without credentials, for test servers.",
);
/// Container of the Azure store.
pub static AZURE_CONTAINER: Key = key(
    "storage.azure.container.name",
    Kind::Text,
    None,
    "Container of the `azure` store. It must exist. Required there.",
);
/// Account of the container.
pub static AZURE_ACCOUNT: Key = key(
    "storage.azure.account.name",
    Kind::Text,
    None,
    "Storage account. With neither key nor token it is asked with the identity of the process: a client secret or certificate in the environment, workload identity, managed identity.",
);
/// Key of the account.
pub static AZURE_KEY: Key = key("storage.azure.account.key", Kind::Password, None, "Key of the account, in base64.");
/// Shared access signature.
pub static AZURE_SAS: Key = key(
    "storage.azure.sas.token",
    Kind::Password,
    None,
    "Shared access signature, in the place of a key. It needs the rights to read, create, write, delete and list.",
);
/// All of it in one.
pub static AZURE_CONNECTION: Key = key(
    "storage.azure.connection.string",
    Kind::Password,
    None,
    "Account, key or signature, and endpoint in one, as Azure's portal shows it. Excludes those keys.",
);
/// Endpoint of the account.
pub static AZURE_ENDPOINT: Key = key(
    "storage.azure.endpoint.url",
    Kind::Text,
    None,
    "Endpoint with scheme, for other clouds, private endpoints and test servers. Without it, `https://<account>.blob.core.windows.net`.",
);
/// Size of blocks.
pub static AZURE_BLOCK_SIZE: Key = key(
    "storage.azure.upload.block.size",
    Kind::Integer { min: 102_400, max: 2_147_483_639 },
    Some("8388608"),
    "Bytes in a block of an upload, as `storage.s3.multipart.upload.part.size`.",
);
/// Certificates of authorities.
pub static TLS_CA: Key = key(
    "storage.tls.ca.file",
    Kind::Text,
    None,
    "File with certificates (PEM) of authorities that are trusted besides the system's.",
);
/// Certificate of the client.
pub static TLS_CERTIFICATE: Key = key(
    "storage.tls.client.certificate.file",
    Kind::Text,
    None,
    "File with the certificate chain (PEM) that is shown to the store.",
);
/// Key of that.
pub static TLS_KEY: Key = key(
    "storage.tls.client.key.file",
    Kind::Text,
    None,
    "File with the private key (PEM, PKCS#8, not encrypted) of `storage.tls.client.certificate.file`.",
);
/// How the proxy is spoken to.
pub static PROXY_SCHEME: Key = key(
    "storage.proxy.scheme",
    Kind::Choice(&["socks5", "http", "https"]),
    Some("socks5"),
    "How the proxy is spoken to. `socks5` leaves it to the proxy to resolve names.",
);
/// Host of the proxy.
pub static PROXY_HOST: Key = key(
    "storage.proxy.host",
    Kind::Text,
    None,
    "Host of a proxy for all requests but those for credentials of the machine and those to the machine itself. Without it, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment hold.",
);
/// Port of the proxy.
pub static PROXY_PORT: Key = key(
    "storage.proxy.port",
    Kind::Integer { min: 1, max: 65_535 },
    None,
    "Port of the proxy. Required with its host.",
);
/// Name for the proxy.
pub static PROXY_USER: Key = key("storage.proxy.username", Kind::Text, None, "Name that the proxy is told.");
/// Password for the proxy.
pub static PROXY_PASSWORD: Key =
    key("storage.proxy.password", Kind::Password, None, "Password that the proxy is told.");
/// Connections at once.
pub static CONNECTIONS_MAX: Key = key(
    "storage.connections.max",
    Kind::Integer { min: 0, max: 100_000 },
    Some("0"),
    "Requests of this manager that are under way at once; others wait. 0 has no bound.",
);
/// What we call ourselves.
pub static USER_AGENT: Key = key(
    "storage.user.agent",
    Kind::Text,
    None,
    "What requests say of their sender. Without it, `undercroft/<version>`.",
);

/// Least size of a part that S3 and GCS take.
pub const PART_MIN: u64 = 5 << 20;

/// All of them, in the order of the reference.
pub static OF_STORES: &[&Key] = &[
    &AWS_SESSION_TOKEN,
    &AWS_CREDENTIALS_FILE,
    &AWS_PROVIDER,
    &AWS_PROFILE,
    &AWS_ROLE,
    &AWS_ROLE_EXTERNAL_ID,
    &AWS_ROLE_SESSION,
    &AWS_ROLE_SECONDS,
    &AWS_CHECKSUM,
    &S3_ENCRYPTION,
    &S3_KMS_KEY,
    &S3_CUSTOMER_KEY,
    &S3_REQUESTER_PAYS,
    &GCS_BUCKET,
    &GCS_ENDPOINT,
    &GCS_CHUNK_SIZE,
    &GCS_JSON,
    &GCS_PATH,
    &GCS_DEFAULT,
    &AZURE_CONTAINER,
    &AZURE_ACCOUNT,
    &AZURE_KEY,
    &AZURE_SAS,
    &AZURE_CONNECTION,
    &AZURE_ENDPOINT,
    &AZURE_BLOCK_SIZE,
    &TLS_CA,
    &TLS_CERTIFICATE,
    &TLS_KEY,
    &PROXY_SCHEME,
    &PROXY_HOST,
    &PROXY_PORT,
    &PROXY_USER,
    &PROXY_PASSWORD,
    &CONNECTIONS_MAX,
    &USER_AGENT,
];

//! Amazon's S3 and its relatives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::http::{clash, endpoint, own};
use crate::config::{Config, ConfigError, Key, storage as keys};

#[derive(Clone)]
pub(in super::super) struct S3Settings {
    pub(in super::super) bucket: String,
    pub(in super::super) region: String,
    pub(in super::super) endpoint: Option<String>,
    pub(in super::super) is_path_style: bool,
    pub(in super::super) storage_class: Option<String>,
    pub(in super::super) login: AwsLogin,
    pub(in super::super) role: Option<AwsRole>,
    pub(in super::super) encryption: Option<S3Encryption>,
    pub(in super::super) is_checksummed: bool,
    pub(in super::super) is_requester_paying: bool,
}

/// Where credentials come from.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) enum AwsLogin {
    Keys { access_key: String, secret_key: String, session_token: Option<String> },
    File(String),
    Default { profile: Option<String> },
    Environment,
    Profile(Option<String>),
    Instance,
    Container,
    WebIdentity,
    Anonymous,
}

#[derive(Clone, PartialEq, Eq)]
pub(in super::super) struct AwsRole {
    pub(in super::super) arn: String,
    pub(in super::super) external_id: Option<String>,
    pub(in super::super) session_name: String,
    pub(in super::super) seconds: u32,
}

/// Encryption that the store does.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) enum S3Encryption {
    /// Value of the header, and a key's id.
    Managed { algorithm: String, kms_key_id: Option<String> },
    /// SSE-C: the key.
    Customer(Vec<u8>),
}

impl std::fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Settings")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl S3Settings {
    /// Where requests go, the bucket left out.
    pub(in super::super) fn url(&self) -> String {
        let amazon = || {
            let suffix = if self.region.starts_with("cn-") { ".cn" } else { "" };
            format!("https://s3.{}.amazonaws.com{suffix}", self.region)
        };
        self.endpoint.as_deref().map_or_else(amazon, |url| url.trim_end_matches('/').to_owned())
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        let of_login = match &self.login {
            AwsLogin::Keys { secret_key, session_token, .. } => [Some(secret_key.clone()), session_token.clone()],
            _ => [None, None],
        };
        let of_role = self.role.as_ref().and_then(|role| role.external_id.clone());
        let of_encryption = match &self.encryption {
            Some(S3Encryption::Customer(key)) => Some(STANDARD.encode(key)),
            _ => None,
        };
        of_login.into_iter().chain([of_role, of_encryption]).flatten().collect()
    }
}

/// Names of `storage.aws.credentials.provider.class`: the short one, and the end of the Java class's.
const PROVIDERS: &[(&str, &str)] = &[
    ("default", "DefaultCredentialsProvider"),
    ("environment", "EnvironmentVariableCredentialsProvider"),
    ("profile", "ProfileCredentialsProvider"),
    ("instance", "InstanceProfileCredentialsProvider"),
    ("container", "ContainerCredentialsProvider"),
    ("web.identity", "WebIdentityTokenFileCredentialsProvider"),
    ("static", "StaticCredentialsProvider"),
    ("anonymous", "AnonymousCredentialsProvider"),
];
const JAVA_PACKAGE: &str = "software.amazon.awssdk.auth.credentials.";

pub(super) fn parse(config: &Config) -> Result<S3Settings, ConfigError> {
    let bucket = config.required(&keys::S3_BUCKET, "the `s3` store needs a bucket")?.to_owned();
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(is_in_name) || bucket.contains("..") {
        return Err(ConfigError::BadValue {
            key: keys::S3_BUCKET.name.to_owned(),
            value: bucket,
            why: "no bucket can be called so".to_owned(),
            range: "3 to 255 letters, digits, `.`, `-` and `_`".to_owned(),
        });
    }
    let endpoint = endpoint(config, &keys::S3_ENDPOINT)?;
    let region = match (own(config, &keys::S3_REGION), &endpoint) {
        (Some(region), _) => region,
        (None, Some(_)) => "us-east-1".to_owned(),
        (None, None) => {
            config.required(&keys::S3_REGION, "without an endpoint the region says where the bucket is")?.to_owned()
        }
    };
    let is_path_style = match config.text(&keys::S3_PATH_STYLE) {
        Some(_) => config.boolean(&keys::S3_PATH_STYLE)?,
        None => endpoint.is_some() || bucket.contains('.'),
    };
    if !is_path_style && bucket.contains('.') {
        return Err(ConfigError::unsupported(
            &keys::S3_PATH_STYLE,
            "false",
            "no certificate holds for a host's name made of a bucket with a dot",
        ));
    }
    Ok(S3Settings {
        bucket,
        region,
        endpoint,
        is_path_style,
        storage_class: own(config, &keys::S3_STORAGE_CLASS),
        login: login(config)?,
        role: role(config)?,
        encryption: encryption(config)?,
        is_checksummed: config.boolean(&keys::AWS_CHECKSUM)?,
        is_requester_paying: config.boolean(&keys::S3_REQUESTER_PAYS)?,
    })
}

fn login(config: &Config) -> Result<AwsLogin, ConfigError> {
    let (access_key, secret_key) = (own(config, &keys::AWS_ACCESS_KEY), own(config, &keys::AWS_SECRET_KEY));
    let (file, provider) = (own(config, &keys::AWS_CREDENTIALS_FILE), own(config, &keys::AWS_PROVIDER));
    let (profile, session_token) = (own(config, &keys::AWS_PROFILE), own(config, &keys::AWS_SESSION_TOKEN));
    let keys_set = match (access_key, secret_key) {
        (Some(access_key), Some(secret_key)) => Some(AwsLogin::Keys { access_key, secret_key, session_token }),
        (Some(_), None) => return Err(other_half(&keys::AWS_SECRET_KEY)),
        (None, Some(_)) => return Err(other_half(&keys::AWS_ACCESS_KEY)),
        (None, None) if session_token.is_some() => {
            return Err(ConfigError::missing(&keys::AWS_ACCESS_KEY, "the session token belongs to it"));
        }
        (None, None) => None,
    };
    let provider = provider.map(|name| provider_of(&name)).transpose()?;
    match (keys_set, file, provider) {
        (Some(_), Some(_), _) => Err(clash(&keys::AWS_CREDENTIALS_FILE, &keys::AWS_ACCESS_KEY)),
        (_, Some(_), Some(_)) => Err(clash(&keys::AWS_PROVIDER, &keys::AWS_CREDENTIALS_FILE)),
        (Some(login), None, None | Some("static")) => match profile {
            Some(_) => Err(clash(&keys::AWS_PROFILE, &keys::AWS_ACCESS_KEY)),
            None => Ok(login),
        },
        (Some(_), None, Some(_)) => Err(clash(&keys::AWS_PROVIDER, &keys::AWS_ACCESS_KEY)),
        (None, Some(file), None) => match profile {
            Some(_) => Err(clash(&keys::AWS_PROFILE, &keys::AWS_CREDENTIALS_FILE)),
            None => Ok(AwsLogin::File(file)),
        },
        (None, None, Some("static")) => Err(ConfigError::missing(&keys::AWS_ACCESS_KEY, "static credentials need it")),
        (None, None, Some("profile")) => Ok(AwsLogin::Profile(profile)),
        (None, None, None | Some("default")) => Ok(AwsLogin::Default { profile }),
        (None, None, Some(other)) => match (profile, other) {
            (Some(_), _) => Err(clash(&keys::AWS_PROFILE, &keys::AWS_PROVIDER)),
            (None, "environment") => Ok(AwsLogin::Environment),
            (None, "instance") => Ok(AwsLogin::Instance),
            (None, "container") => Ok(AwsLogin::Container),
            (None, "web.identity") => Ok(AwsLogin::WebIdentity),
            (None, _) => Ok(AwsLogin::Anonymous),
        },
    }
}

/// The short name of what `name` means.
fn provider_of(name: &str) -> Result<&'static str, ConfigError> {
    let class = name.strip_prefix(JAVA_PACKAGE).unwrap_or(name);
    let known = PROVIDERS.iter().find(|(short, java)| *short == name || *java == class);
    known.map(|(short, _)| *short).ok_or_else(|| {
        let names: Vec<_> = PROVIDERS.iter().map(|(short, _)| format!("`{short}`")).collect();
        let why = format!("a Java class can't be loaded; what is known by name: {}", names.join(", "));
        ConfigError::unsupported(&keys::AWS_PROVIDER, name, &why)
    })
}

fn other_half(missing: &'static Key) -> ConfigError {
    ConfigError::missing(missing, "the other half of the key pair is set")
}

fn role(config: &Config) -> Result<Option<AwsRole>, ConfigError> {
    let external_id = own(config, &keys::AWS_ROLE_EXTERNAL_ID);
    let Some(arn) = own(config, &keys::AWS_ROLE) else {
        return match external_id {
            Some(_) => Err(ConfigError::missing(&keys::AWS_ROLE, "an external id for it is set")),
            None => Ok(None),
        };
    };
    if !arn.starts_with("arn:") {
        return Err(ConfigError::bad_value(&keys::AWS_ROLE, &arn, "not an ARN (`arn:aws:iam::…:role/…`)"));
    }
    Ok(Some(AwsRole {
        arn,
        external_id,
        session_name: config.required(&keys::AWS_ROLE_SESSION, "a session has a name")?.to_owned(),
        seconds: u32::try_from(config.unsigned(&keys::AWS_ROLE_SECONDS)?).unwrap_or(3600),
    }))
}

fn encryption(config: &Config) -> Result<Option<S3Encryption>, ConfigError> {
    let (kms_key_id, customer) = (own(config, &keys::S3_KMS_KEY), own(config, &keys::S3_CUSTOMER_KEY));
    let method = own(config, &keys::S3_ENCRYPTION);
    if method.as_deref() != Some("customer") && customer.is_some() {
        return Err(ConfigError::missing(&keys::S3_ENCRYPTION, "a customer's key is set: it takes `customer`"));
    }
    if !matches!(method.as_deref(), Some("aws:kms" | "aws:kms:dsse")) && kms_key_id.is_some() {
        return Err(ConfigError::missing(&keys::S3_ENCRYPTION, "a key of KMS is set: it takes `aws:kms`"));
    }
    match method.as_deref() {
        None => Ok(None),
        Some(algorithm @ ("AES256" | "aws:kms" | "aws:kms:dsse")) => {
            Ok(Some(S3Encryption::Managed { algorithm: algorithm.to_owned(), kms_key_id }))
        }
        Some("customer") => {
            let text = customer.ok_or_else(|| ConfigError::missing(&keys::S3_CUSTOMER_KEY, "SSE-C needs it"))?;
            match STANDARD.decode(&text) {
                Ok(key) if key.len() == 32 => Ok(Some(S3Encryption::Customer(key))),
                _ => Err(ConfigError::bad_value(&keys::S3_CUSTOMER_KEY, &text, "not 32 bytes in base64")),
            }
        }
        Some(other) => Err(ConfigError::BadValue {
            key: keys::S3_ENCRYPTION.name.to_owned(),
            value: other.to_owned(),
            why: "no such encryption".to_owned(),
            range: "AES256, aws:kms, aws:kms:dsse, customer".to_owned(),
        }),
    }
}

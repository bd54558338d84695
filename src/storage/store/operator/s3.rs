//! S3 and its relatives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opendal::{Configurator as _, HttpTransporter, Operator, services};
use openssl::hash::{MessageDigest, hash};

use super::super::super::StorageError;
use super::super::super::settings::{AwsLogin, S3Encryption, S3Settings};
use super::super::calls::Remedies;
use super::super::login::{LoginTrouble, aws_login};
use super::options::configured;
use super::unusable;

pub(super) const REMEDIES: Remedies = Remedies {
    unreachable: "`storage.s3.endpoint.url`, the network and the store",
    refused: "`storage.aws.access.key.id`, `storage.aws.secret.access.key` or whatever the credentials come from, and the rights on the bucket",
    misconfigured: "`storage.s3.bucket.name`, `storage.s3.region` and `storage.s3.endpoint.url`",
};

const ELSEWHERE: &str = "the keys that begin with `storage.aws.`";
const LOGINS: &[(&str, &str)] = &[
    ("access_key_id", ELSEWHERE),
    ("allow_anonymous", ELSEWHERE),
    ("assume_role_duration_seconds", ELSEWHERE),
    ("assume_role_session_tags", ELSEWHERE),
    ("disable_config_load", ELSEWHERE),
    ("disable_ec2_metadata", ELSEWHERE),
    ("external_id", ELSEWHERE),
    ("profile", ELSEWHERE),
    ("role_arn", ELSEWHERE),
    ("role_session_name", ELSEWHERE),
    ("secret_access_key", ELSEWHERE),
    ("session_token", ELSEWHERE),
    ("skip_signature", ELSEWHERE),
];

pub(super) fn operator(
    s3: &S3Settings,
    driver: &[(String, String)],
    transporter: &HttpTransporter,
    login: &LoginTrouble,
) -> Result<Operator, StorageError> {
    let mut own = vec![
        ("bucket", s3.bucket.clone()),
        ("region", s3.region.clone()),
        ("endpoint", s3.url()),
        ("enable_virtual_host_style", (!s3.is_path_style).to_string()),
        ("enable_request_payer", s3.is_requester_paying.to_string()),
        // Nothing in the environment may take the place of what is configured.
        ("disable_config_load", "true".to_owned()),
        ("skip_signature", (s3.login == AwsLogin::Anonymous && s3.role.is_none()).to_string()),
    ];
    if let Some(class) = &s3.storage_class {
        own.push(("default_storage_class", class.clone()));
    }
    if s3.is_checksummed {
        own.push(("checksum_algorithm", "crc32c".to_owned()));
    }
    match &s3.encryption {
        Some(S3Encryption::Managed { algorithm, kms_key_id }) => {
            own.push(("server_side_encryption", algorithm.clone()));
            if let Some(id) = kms_key_id {
                own.push(("server_side_encryption_aws_kms_key_id", id.clone()));
            }
        }
        Some(S3Encryption::Customer(key)) => {
            let md5 = hash(MessageDigest::md5(), key).map_err(|error| StorageError::Internal {
                action: "open",
                object: "`storage.s3.server.side.encryption.customer.key`".to_owned().into(),
                why: format!("OpenSSL can't make an MD5, which SSE-C needs: {error}").into(),
                source: None,
            })?;
            own.push(("server_side_encryption_customer_algorithm", "AES256".to_owned()));
            own.push(("server_side_encryption_customer_key", STANDARD.encode(key)));
            own.push(("server_side_encryption_customer_key_md5", STANDARD.encode(md5)));
        }
        None => {}
    }
    let config: services::S3Config = configured(own, driver, LOGINS)?;
    let builder = config.into_builder().credential_provider_chain(aws_login(s3, transporter, login));
    Operator::new(builder).map_err(|error| unusable(&error))
}

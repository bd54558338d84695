//! Google's Cloud Storage.

use opendal::{Configurator as _, Operator, services};

use super::super::super::StorageError;
use super::super::super::settings::{GcsSettings, GoogleLogin};
use super::super::calls::Remedies;
use super::super::login::{LoginTrouble, SCOPE, google_login};
use super::options::configured;
use super::unusable;

pub(super) const REMEDIES: Remedies = Remedies {
    unreachable: "`storage.gcs.endpoint.url`, the network and the store",
    refused: "`storage.gcs.credentials.json`, `.path` or `.default`, and the rights on the bucket",
    misconfigured: "`storage.gcs.bucket.name` and `storage.gcs.endpoint.url`",
};

const ELSEWHERE: &str = "the keys that begin with `storage.gcs.credentials.`";
const LOGINS: &[(&str, &str)] = &[
    ("allow_anonymous", ELSEWHERE),
    ("credential", ELSEWHERE),
    ("credential_path", ELSEWHERE),
    ("disable_config_load", ELSEWHERE),
    ("disable_vm_metadata", ELSEWHERE),
    ("scope", ELSEWHERE),
    ("service_account", ELSEWHERE),
    ("skip_signature", ELSEWHERE),
    ("token", ELSEWHERE),
];

pub(super) fn operator(
    gcs: &GcsSettings,
    driver: &[(String, String)],
    login: &LoginTrouble,
) -> Result<Operator, StorageError> {
    let own = [
        ("bucket", gcs.bucket.clone()),
        ("endpoint", gcs.url().to_owned()),
        ("scope", SCOPE.to_owned()),
        // The driver would search these after ours, and take what it finds.
        ("disable_config_load", "true".to_owned()),
        ("disable_vm_metadata", "true".to_owned()),
        ("skip_signature", (gcs.login == GoogleLogin::Anonymous).to_string()),
    ];
    let config: services::GcsConfig = configured(own, driver, LOGINS)?;
    let builder = config.into_builder().credential_provider_chain(google_login(&gcs.login, login));
    Operator::new(builder).map_err(|error| unusable(&error))
}

//! Azure's Blob Storage.

use opendal::{Configurator as _, Operator, services};

use super::super::super::StorageError;
use super::super::super::settings::AzureSettings;
use super::super::calls::Remedies;
use super::super::login::{LoginTrouble, azure_login};
use super::options::configured;
use super::unusable;

pub(super) const REMEDIES: Remedies = Remedies {
    unreachable: "`storage.azure.endpoint.url`, the network and the store",
    refused: "`storage.azure.account.key`, `storage.azure.sas.token` or the identity, and its rights on the container",
    misconfigured: "`storage.azure.container.name`, `storage.azure.account.name` and `storage.azure.endpoint.url`",
};

const ELSEWHERE: &str = "the keys that begin with `storage.azure.`";
const LOGINS: &[(&str, &str)] =
    &[("account_key", ELSEWHERE), ("account_name", ELSEWHERE), ("sas_token", ELSEWHERE), ("skip_signature", ELSEWHERE)];

pub(super) fn operator(
    azure: &AzureSettings,
    driver: &[(String, String)],
    login: &LoginTrouble,
) -> Result<Operator, StorageError> {
    let mut own = vec![("container", azure.container.clone()), ("endpoint", azure.endpoint.clone())];
    own.extend(azure.account.clone().map(|account| ("account_name", account)));
    let config: services::AzblobConfig = configured(own, driver, LOGINS)?;
    let builder = config.into_builder().credential_provider_chain(azure_login(azure, login));
    Operator::new(builder).map_err(|error| unusable(&error))
}

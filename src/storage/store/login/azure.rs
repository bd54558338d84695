//! Credentials for Azure's Blob Storage.

use reqsign_azure_storage::{Credential, DefaultCredentialProvider, StaticCredentialProvider};
use reqsign_core::ProvideCredentialChain;

use super::super::super::settings::{AzureLogin, AzureSettings};
use super::{LoginTrouble, Noted};

/// Where the credentials of a store come from.
pub(in super::super) fn azure_login(
    azure: &AzureSettings,
    trouble: &LoginTrouble,
) -> ProvideCredentialChain<Credential> {
    let chain = ProvideCredentialChain::new();
    match (&azure.login, &azure.account) {
        (AzureLogin::Key(key), account) => {
            chain.push(StaticCredentialProvider::new_shared_key(account.as_deref().unwrap_or_default(), key))
        }
        (AzureLogin::Signature(token), _) => chain.push(StaticCredentialProvider::new_sas_token(token)),
        (AzureLogin::Identity, _) => {
            // Keys in the environment would be a second place to configure the same, and Azure's command is for people.
            let found = DefaultCredentialProvider::builder().no_env().no_azure_cli().no_azure_pipelines().build();
            let what = "client certificate and secret, workload identity and managed identity were tried";
            chain.push(Noted { source: found, what, trouble: trouble.clone() })
        }
    }
}

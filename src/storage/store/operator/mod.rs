//! Operators of OpenDAL, set up from our settings, and what an operator is told when they don't work.

mod azure;
mod gcs;
mod options;
mod s3;

use opendal::{HttpTransporter, OperationContext, Operator, services};

use super::super::StorageError;
use super::super::settings::{AzureSettings, GcsSettings, S3Settings, StoreKind, StoreSettings};
use super::calls::Remedies;
use super::folder::Folder;
use super::http::{BoundedTransport, client};
use super::login::LoginTrouble;
use super::uploads::Uploads;

const FOLDER_REMEDIES: Remedies = Remedies {
    unreachable: "the disk of `storage.root`, its free space above all",
    refused: "the rights on `storage.root`",
    misconfigured: "`storage.root`: it must be a folder in which the broker's user may write",
};

/// A store, set up and not yet asked anything.
pub(super) struct Opened {
    /// None for a folder, whose operator is made when the folder is there.
    pub(super) operator: Option<Operator>,
    pub(super) name: String,
    pub(super) remedies: Remedies,
    pub(super) login: LoginTrouble,
    pub(super) uploads: Option<Uploads>,
}

/// Sets up the store of `settings`.
pub(super) fn open(settings: &StoreSettings, runtime: tokio::runtime::Id) -> Result<Opened, StorageError> {
    let login = LoginTrouble::default();
    let transporter = || {
        let client = client(runtime, &settings.http)?;
        let transport = BoundedTransport::new(client, settings.calls.attempt_timeout, settings.http.connections_max);
        Ok::<_, StorageError>(HttpTransporter::new(transport))
    };
    let over = |operator: Operator, transporter: &HttpTransporter| {
        Some(operator.with_context(OperationContext::new().with_http_transport(transporter.clone())))
    };
    let opened = match &settings.kind {
        StoreKind::Filesystem { root } => {
            Opened { operator: None, name: format!("folder `{root}`"), remedies: FOLDER_REMEDIES, login, uploads: None }
        }
        StoreKind::Memory => Opened {
            operator: Some(Operator::new(services::Memory::default()).map_err(|error| unusable(&error))?),
            name: "memory".to_owned(),
            remedies: FOLDER_REMEDIES,
            login,
            uploads: None,
        },
        StoreKind::S3(s3) => {
            let transporter = transporter()?;
            Opened {
                operator: over(s3::operator(s3, &settings.driver, &transporter, &login)?, &transporter),
                name: name_of_s3(s3),
                remedies: s3::REMEDIES,
                uploads: Some(Uploads::of_s3(s3, &transporter, &login)),
                login,
            }
        }
        StoreKind::Gcs(gcs) => {
            let transporter = transporter()?;
            Opened {
                operator: over(gcs::operator(gcs, &settings.driver, &login)?, &transporter),
                name: name_of_gcs(gcs),
                remedies: gcs::REMEDIES,
                uploads: Some(Uploads::of_gcs(gcs, &transporter, &login)),
                login,
            }
        }
        StoreKind::Azure(azure) => {
            let transporter = transporter()?;
            Opened {
                operator: over(azure::operator(azure, &settings.driver, &login)?, &transporter),
                name: name_of_azure(azure),
                remedies: azure::REMEDIES,
                login,
                uploads: None,
            }
        }
        StoreKind::Service(name) => {
            // Whatever the service doesn't know it passes over: its options are its own.
            let operator = Operator::via_iter(*name, settings.driver.iter().cloned());
            Opened {
                operator: over(operator.map_err(|error| unusable(&error))?, &transporter()?),
                name: format!("OpenDAL's service `{name}`"),
                remedies: SERVICE_REMEDIES,
                login,
                uploads: None,
            }
        }
    };
    Ok(opened)
}

const SERVICE_REMEDIES: Remedies = Remedies {
    unreachable: "`storage.opendal.endpoint`, the network and the store",
    refused: "the credentials among `storage.opendal.*`",
    misconfigured: "`storage.opendal.*`",
};

fn name_of_s3(s3: &S3Settings) -> String {
    let endpoint = s3.endpoint.clone().unwrap_or_else(|| format!("Amazon S3, region {}", s3.region));
    format!("bucket `{}` at {endpoint}", s3.bucket)
}

fn name_of_gcs(gcs: &GcsSettings) -> String {
    format!("bucket `{}` at {}", gcs.bucket, gcs.endpoint.as_deref().unwrap_or("Google Cloud Storage"))
}

fn name_of_azure(azure: &AzureSettings) -> String {
    format!("container `{}` at {}", azure.container, azure.endpoint)
}

/// The driver doesn't take its options: the only place where a bad `storage.opendal.*` is noticed.
fn unusable(error: &opendal::Error) -> StorageError {
    let mut why = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        why = inner.to_string();
        cause = inner.source();
    }
    StorageError::Config(crate::config::ConfigError::Unsupported {
        key: "storage.*".to_owned(),
        value: "[several]".to_owned(),
        why,
    })
}

/// Of a folder that is there. Touches the disk.
pub(super) fn folder_operator(folder: &Folder, options: &[(String, String)]) -> opendal::Result<Operator> {
    let own = [
        ("root".to_owned(), folder.root().to_string_lossy().into_owned()),
        ("atomic_write_dir".to_owned(), folder.temporary().to_string_lossy().into_owned()),
    ];
    Operator::from_iter::<services::Fs>(options.iter().cloned().chain(own))
}

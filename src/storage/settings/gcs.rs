//! Google's Cloud Storage.

use super::http::{clash, endpoint, own};
use crate::config::{Config, ConfigError, storage as keys};

#[derive(Clone)]
pub(in super::super) struct GcsSettings {
    pub(in super::super) bucket: String,
    pub(in super::super) endpoint: Option<String>,
    pub(in super::super) login: GoogleLogin,
}

/// Where credentials come from.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) enum GoogleLogin {
    Json(String),
    File(String),
    Default,
    Anonymous,
}

impl std::fmt::Debug for GcsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GcsSettings")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl GcsSettings {
    pub(in super::super) fn url(&self) -> &str {
        self.endpoint.as_deref().unwrap_or("https://storage.googleapis.com").trim_end_matches('/')
    }
}

pub(super) fn parse(config: &Config) -> Result<GcsSettings, ConfigError> {
    let default = match own(config, &keys::GCS_DEFAULT) {
        Some(_) => Some(config.boolean(&keys::GCS_DEFAULT)?),
        None => None,
    };
    let login = match (own(config, &keys::GCS_JSON), own(config, &keys::GCS_PATH), default) {
        (Some(json), None, None) => match serde_json::from_str::<serde_json::Value>(&json) {
            Ok(serde_json::Value::Object(_)) => GoogleLogin::Json(json),
            _ => return Err(ConfigError::bad_value(&keys::GCS_JSON, &json, "not a JSON object")),
        },
        (None, Some(path), None) => GoogleLogin::File(path),
        (None, None, Some(true)) => GoogleLogin::Default,
        (None, None, Some(false)) => GoogleLogin::Anonymous,
        (None, None, None) => {
            let why = "credentials are needed: this, `storage.gcs.credentials.path`, or `.default` = `true`";
            return Err(ConfigError::missing(&keys::GCS_JSON, why));
        }
        (Some(_), Some(_), _) => return Err(clash(&keys::GCS_PATH, &keys::GCS_JSON)),
        (Some(_), None, Some(_)) => return Err(clash(&keys::GCS_DEFAULT, &keys::GCS_JSON)),
        (None, Some(_), Some(_)) => return Err(clash(&keys::GCS_DEFAULT, &keys::GCS_PATH)),
    };
    Ok(GcsSettings {
        bucket: config.required(&keys::GCS_BUCKET, "the `gcs` store needs a bucket")?.to_owned(),
        endpoint: endpoint(config, &keys::GCS_ENDPOINT)?,
        login,
    })
}

//! `storage.opendal.*`: whatever a driver knows, and nothing that it would pass over in silence.

use std::collections::BTreeMap;

use opendal::Configurator;

use super::super::super::StorageError;
use super::unusable;
use crate::config::{ConfigError, storage as keys};

/// The driver's configuration of `own` options, and of what the operator set beside them.
///
/// `logins` are options that say who asks: they have keys of their own.
pub(super) fn configured<C: Configurator + Default + PartialEq>(
    own: impl IntoIterator<Item = (&'static str, String)>,
    driver: &[(String, String)],
    logins: &[(&str, &str)],
) -> Result<C, StorageError> {
    let mut options: BTreeMap<String, String> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for (name, value) in driver {
        let refused = |why: String| {
            StorageError::Config(ConfigError::Unsupported {
                key: format!("{}{name}", keys::DRIVER_PREFIX),
                value: "[hidden]".to_owned(),
                why,
            })
        };
        if let Some((_, instead)) = logins.iter().find(|(login, _)| login == name) {
            return Err(refused(format!("use {instead}")));
        }
        if !is_known::<C>(name, value).map_err(|error| refused(error.to_string()))? {
            return Err(refused("the driver has no such option, or this is its default".to_owned()));
        }
        options.insert(name.clone(), value.clone());
    }
    C::from_iter(options).map_err(|error| unusable(&error))
}

/// A driver drops what it doesn't know: then nothing differs from what it does by default.
fn is_known<C: Configurator + Default + PartialEq>(name: &str, value: &str) -> opendal::Result<bool> {
    let changes = |value: &str| C::from_iter([(name.to_owned(), value.to_owned())]).map(|set| set != C::default());
    Ok(changes(value)? || (value.eq_ignore_ascii_case("false") && changes("true")?))
}

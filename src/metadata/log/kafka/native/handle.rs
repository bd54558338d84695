//! One client of librdkafka, whatever it is for.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::callbacks::{Errors, on_error, on_log};
use super::code::{self, Code, RespErr};
use super::produce::on_delivery;
use crate::config::ConfigError;
use crate::metadata::log::kafka::translate::Property;

/// What a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Producer,
    Consumer,
}

/// A client. Its last owner destroys it, which waits for its threads.
pub(in super::super) struct Handle {
    rk: *mut rd::rd_kafka_t,
    main: *mut rd::rd_kafka_queue_t,
    errors: Arc<Errors>,
}

// SAFETY: every function of librdkafka that is called on a client or a queue may be called from any thread, also at
// the same time; the pointers live until `drop`.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// Makes a client. Connects in the background; no network is waited for.
    pub fn new(kind: Kind, properties: &[Property]) -> Result<Self, ConfigError> {
        // Before any TLS: without it OpenSSL tears itself down at exit, under librdkafka's threads.
        openssl_sys::init();
        let errors = Arc::new(Errors::default());
        let conf = Conf::new(properties)?;
        let native_kind = match kind {
            Kind::Producer => rd::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            Kind::Consumer => rd::rd_kafka_type_t::RD_KAFKA_CONSUMER,
        };
        let mut why = [0 as c_char; 512];
        // SAFETY: `conf` is a live configuration and has three callbacks with their right signatures set; the opaque
        // outlives the client (see `drop`); `why` has the length that is told. On success the client owns `conf`.
        let rk = unsafe {
            rd::rd_kafka_conf_set_opaque(conf.0, Arc::as_ptr(&errors).cast_mut().cast());
            rd::rd_kafka_conf_set_log_cb(conf.0, Some(on_log));
            rd::rd_kafka_conf_set_error_cb(conf.0, Some(on_error));
            if kind == Kind::Producer {
                rd::rd_kafka_conf_set_dr_msg_cb(conf.0, Some(on_delivery));
            }
            rd::rd_kafka_new(native_kind, conf.0, why.as_mut_ptr(), why.len())
        };
        if rk.is_null() {
            // SAFETY: librdkafka ended the text with a zero.
            let why = unsafe { code::text(why.as_ptr()) };
            return Err(unusable(properties, why));
        }
        std::mem::forget(conf);
        // SAFETY: `rk` is a live client.
        let main = unsafe { rd::rd_kafka_queue_get_main(rk) };
        Ok(Self { rk, main, errors })
    }

    /// Checks properties without making a client.
    pub fn check(properties: &[Property]) -> Result<(), ConfigError> {
        Conf::new(properties).map(drop)
    }

    pub(super) fn rk(&self) -> *mut rd::rd_kafka_t {
        self.rk
    }

    /// Runs what waits to be called (delivery reports, errors); waits up to `timeout` for the first of it.
    pub fn poll(&self, timeout: Duration) {
        // SAFETY: a live client.
        unsafe { rd::rd_kafka_poll(self.rk, millis(timeout)) };
    }

    /// Ends a waiting [`Handle::poll`].
    pub fn wake(&self) {
        // SAFETY: a live queue.
        unsafe { rd::rd_kafka_queue_yield(self.main) };
    }

    /// Errors that came beside the requests, since the last call, as far as somebody polled.
    pub fn take_errors(&self) -> Vec<(Code, String)> {
        self.errors.take()
    }

    /// Why this client can never be used again, if so.
    pub fn fatal(&self) -> Option<(Code, String)> {
        let mut why = [0 as c_char; 512];
        // SAFETY: a live client; `why` has the length that is told.
        let code = unsafe { rd::rd_kafka_fatal_error(self.rk, why.as_mut_ptr(), why.len()) };
        // SAFETY: librdkafka ends the text with a zero; before, it was all zeros.
        (code != RespErr::RD_KAFKA_RESP_ERR_NO_ERROR).then(|| (Code::of(code), unsafe { code::text(why.as_ptr()) }))
    }

    /// Makes the client fail as if a broker had refused its sequence: for tests of the way back.
    #[cfg(test)]
    pub fn fail_for_test(&self) {
        // SAFETY: a live client and a static C string.
        unsafe {
            rd::rd_kafka_test_fatal_error(
                self.rk,
                RespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                c"for a test".as_ptr(),
            )
        };
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody else has these pointers: topics and queues of this client belong to structures that hold it
        // and drop theirs first. `errors` is dropped after this.
        unsafe {
            rd::rd_kafka_queue_destroy(self.main);
            rd::rd_kafka_destroy(self.rk);
        }
    }
}

/// Why no client could be made. librdkafka's text begins with the property, if one is to blame.
fn unusable(properties: &[Property], why: String) -> ConfigError {
    let blamed = properties.iter().rev().find(|property| why.starts_with(&property.name));
    ConfigError::BadValue {
        key: blamed.map_or("remote.log.metadata.common.client.*", |property| &property.from).to_owned(),
        value: blamed.map_or("[several]", Property::shown).to_owned(),
        why,
        range: "settings with which a client can be made".to_owned(),
    }
}

/// Whole milliseconds for librdkafka; more than its range is its maximum.
pub(super) fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

/// Text as a C string; what stands behind a zero byte is cut off.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

struct Conf(*mut rd::rd_kafka_conf_t);

impl Conf {
    fn new(properties: &[Property]) -> Result<Self, ConfigError> {
        // SAFETY: without arguments; aborts itself when out of memory.
        let conf = Self(unsafe { rd::rd_kafka_conf_new() });
        for property in properties {
            conf.set(property)?;
        }
        Ok(conf)
    }

    fn set(&self, property: &Property) -> Result<(), ConfigError> {
        let (name, value) = (c_string(&property.name), c_string(&property.value));
        let mut why = [0 as c_char; 512];
        // SAFETY: a live configuration, C strings, a buffer with its length.
        let result =
            unsafe { rd::rd_kafka_conf_set(self.0, name.as_ptr(), value.as_ptr(), why.as_mut_ptr(), why.len()) };
        if result == rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            return Ok(());
        }
        // SAFETY: librdkafka ends the text with a zero.
        let why = unsafe { code::text(why.as_ptr()) };
        // Its text may repeat the value.
        let why = if property.shown() == property.value { why } else { "librdkafka does not take it".to_owned() };
        Err(ConfigError::BadValue {
            key: property.from.clone(),
            value: property.shown().to_owned(),
            why,
            range: format!("what librdkafka takes as `{}`", property.name),
        })
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: owned; a configuration that a client took over is forgotten instead.
        unsafe { rd::rd_kafka_conf_destroy(self.0) };
    }
}

//! Numbers of a manager.

use std::sync::Arc;

use crate::metrics::{Description, Kind, Registry};

use super::borrow::Out;
use super::boundary::{boundary, quietly};
use super::buf::{self, uc_buf_t};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};

/// The metrics of one manager. Good after the manager is closed, too.
///
/// Some exist once for each topic, and come and go with it. So ask for the names again when the generation is another one,
/// which is seldom; values read between two equal generations are those of the names:
/// ```c
/// uc_metrics_generation(metrics, &generation, NULL);
/// uc_metrics_describe(metrics, &json, NULL);
/// for (;;) {
///   double values[256];
///   size_t count = 0;
///   uint64_t now = 0;
///   uc_metrics_read(metrics, values, 256, &count, NULL);
///   uc_metrics_generation(metrics, &now, NULL);
///   if (now != generation) { break; }
///   show(json, values, count);
/// }
/// ```
pub struct uc_metrics_t {
    _private: [u8; 0],
}

/// See [`uc_metrics_t`].
pub struct Metrics(pub(super) Arc<Registry>);

noun!(Metrics, uc_metrics_t, 0xC4);

/// What the values are: a JSON array in the order of `uc_metrics_read`, with objects of `group` (`storage` or
/// `metadata`), `name`, `kind` (`counter` or `gauge`) and `text`.
///
/// One that exists once for each topic (or whatever its label is) also has `label`, an object of `name` (`topic`) and
/// `value`; and if Kafka has a name in JMX for such a metric, `mbean`, without the label.
///
/// Ownership: `*json_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `json_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metrics_describe(
    metrics: *const uc_metrics_t,
    json_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let json_out = unsafe { Out::required(json_out, "json_out")? };
        json_out.set(buf::open(json(&handle::find::<Metrics>(metrics)?.0))?);
        Ok(())
    })
}

/// Values as of now. `*count_out` becomes the number of metrics; at most `capacity` values are written.
///
/// Ownership: `values` stays the caller's; null with capacity 0 asks for the number alone.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `values` is null or valid for writes of `capacity` doubles; `count_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metrics_read(
    metrics: *const uc_metrics_t,
    values: *mut f64,
    capacity: usize,
    count_out: *mut usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let count_out = unsafe { Out::required(count_out, "count_out")? };
        if values.is_null() && capacity > 0 {
            return Err(Failure::argument(format!("values is null, and its capacity is {capacity}")));
        }
        let mut count = 0;
        for value in handle::find::<Metrics>(metrics)?.0.read() {
            if count < capacity {
                // SAFETY: not null and within `capacity` doubles, which are valid for writes (# Safety).
                unsafe { values.add(count).write_unaligned(value) };
            }
            count += 1;
        }
        count_out.set(count);
        Ok(())
    })
}

/// Another number than before once a metric has come or gone, so that the values have another order. Cheap.
///
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 2.
///
/// # Safety
/// `generation_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metrics_generation(
    metrics: *const uc_metrics_t,
    generation_out: *mut u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let generation_out = unsafe { Out::required(generation_out, "generation_out")? };
        generation_out.set(handle::find::<Metrics>(metrics)?.0.generation());
        Ok(())
    })
}

/// All values as text for Prometheus (format 0.0.4).
///
/// Ownership: `*text_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `text_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metrics_prometheus(
    metrics: *const uc_metrics_t,
    text_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let text_out = unsafe { Out::required(text_out, "text_out")? };
        text_out.set(buf::open(handle::find::<Metrics>(metrics)?.0.prometheus())?);
        Ok(())
    })
}

/// Frees the handle; the manager goes on counting. Nothing happens if it is null or freed already.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_metrics_free(metrics: *mut uc_metrics_t) {
    quietly((), || drop(handle::take::<Metrics>(metrics)));
}

fn json(registry: &Registry) -> String {
    let (all, _) = registry.describe();
    let rows = all.into_iter().map(|Description { info, label, mbean }| {
        let kind = match info.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let mut row = serde_json::json!({ "group": info.group, "name": info.name, "kind": kind, "text": info.text });
        if let Some((name, value)) = label {
            row["label"] = serde_json::json!({ "name": name, "value": value });
        }
        if let Some(mbean) = mbean {
            row["mbean"] = mbean.into();
        }
        row
    });
    serde_json::Value::Array(rows.collect()).to_string()
}

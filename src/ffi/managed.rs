//! What the two managers have in common behind their handles: a door, a place among the joints, and some calls.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;

use crate::config::Config;
use crate::metrics::Registry;

use super::borrow::Out;
use super::boundary::{boundary, quietly};
use super::code::uc_status_t;
use super::config::{self, uc_config_t};
use super::cq::{self, uc_cq_t};
use super::error::{Failure, uc_error_t};
use super::gate::{Call, Gate};
use super::handle::{self, Noun};
use super::joint::{self, Member};
use super::metrics::{Metrics, uc_metrics_t};
use super::runtime;

/// What a free waits for at most.
const FREE_MS: u32 = 10_000;

/// A manager of a room.
pub trait Manager: Clone + Send + Sync + 'static {
    /// For messages.
    const NAME: &'static str;

    fn open(config: &Config, runtime: Handle) -> Result<Self, Failure>;

    /// Closes it within `left`, if that is a bound; whether it has ended by then.
    fn shut(&self, runtime: &Handle, left: Option<Duration>) -> bool;

    fn metrics(&self) -> Arc<Registry>;

    /// How the joints know it.
    fn member(&self) -> Member;
}

/// A manager behind a handle.
pub struct Managed<M: Manager> {
    pub(super) manager: M,
    pub(super) gate: Gate,
    /// Its number among the joints.
    pub(super) number: u64,
}

impl<M: Manager> Managed<M> {
    fn open(config: *const uc_config_t) -> Result<Self, Failure> {
        let config = config::snapshot(config)?;
        let broker = joint::broker_id(&config)?;
        let lease = runtime::lease()?;
        let manager = M::open(&config, lease.handle().clone())?;
        let gate = Gate::new(M::NAME, lease);
        let number = joint::enrol(broker, manager.member());
        Ok(Self { manager, gate, number })
    }

    fn close(&self, timeout_ms: u32) -> Result<(), Failure> {
        joint::leave(self.number);
        self.gate.close(timeout_ms, |runtime, left| self.manager.shut(runtime, left))
    }

    /// Lets a call in that gives its event to `cq`. What `begin` refuses gives none.
    pub(super) fn submit<W, E>(
        &self,
        what: &'static str,
        cq: *const uc_cq_t,
        tag: u64,
        begin: impl FnOnce(M) -> Result<W, E>,
    ) -> Result<(), Failure>
    where
        W: Future<Output = Result<Option<Bytes>, E>> + Send + 'static,
        E: Into<Failure> + Send + 'static,
    {
        let call = self.gate.enter()?;
        let ticket = cq::find(cq)?.accept(tag)?;
        match begin(self.manager.clone()) {
            Ok(work) => {
                ticket.run(&call, what, work);
                Ok(())
            }
            Err(error) => {
                ticket.withdraw();
                Err(error.into())
            }
        }
    }
}

impl<M: Manager> Drop for Managed<M> {
    fn drop(&mut self) {
        // Only if the free was not asked for: the gate remembers a close.
        let _ = self.close(0);
    }
}

/// The manager of a handle, and a call inside of it.
pub(super) fn enter<M: Manager>(of: *const <Managed<M> as Noun>::Opaque) -> Result<(Arc<Managed<M>>, Call), Failure>
where
    Managed<M>: Noun,
{
    let managed = handle::find::<Managed<M>>(of)?;
    let call = managed.gate.enter()?;
    Ok((managed, call))
}

/// The body of a `uc_…_open`; `name` is the output's.
///
/// # Safety
/// `managed_out` and `error_out` are null or valid for writes.
pub(super) unsafe fn open<M: Manager>(
    config: *const uc_config_t,
    managed_out: *mut *mut <Managed<M> as Noun>::Opaque,
    name: &str,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t
where
    Managed<M>: Noun,
{
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let managed_out = unsafe { Out::required(managed_out, name)? };
        managed_out.set(handle::open(Managed::<M>::open(config)?)?);
        Ok(())
    })
}

/// The body of a `uc_…_metrics`.
///
/// # Safety
/// `metrics_out` and `error_out` are null or valid for writes.
pub(super) unsafe fn metrics<M: Manager>(
    of: *const <Managed<M> as Noun>::Opaque,
    metrics_out: *mut *mut uc_metrics_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t
where
    Managed<M>: Noun,
{
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let metrics_out = unsafe { Out::required(metrics_out, "metrics_out")? };
        metrics_out.set(handle::open(Metrics(handle::find::<Managed<M>>(of)?.manager.metrics()))?);
        Ok(())
    })
}

/// The body of a `uc_…_close`.
///
/// # Safety
/// `error_out` is null or valid for writes.
pub(super) unsafe fn close<M: Manager>(
    of: *const <Managed<M> as Noun>::Opaque,
    timeout_ms: u32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t
where
    Managed<M>: Noun,
{
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || handle::find::<Managed<M>>(of)?.close(timeout_ms))
}

/// The body of a `uc_…_free`.
pub(super) fn free<M: Manager>(of: *mut <Managed<M> as Noun>::Opaque)
where
    Managed<M>: Noun,
{
    quietly((), || {
        if let Some(managed) = handle::take::<Managed<M>>(of) {
            let _ = managed.close(FREE_MS);
        }
    });
}

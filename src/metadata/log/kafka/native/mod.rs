//! librdkafka's C interface behind safe types: the only `unsafe` of the metadata room.
//!
//! In: properties, topics, bytes. Out: codes, messages, delivery reports. Never: what an error means to a caller.
//!
//! The crate's own clients are not used, as they have neither ListOffsets nor leader epochs, read one message per lock,
//! and a thread for each client.

mod admin;
mod callbacks;
mod code;
mod consume;
mod epochs;
mod handle;
mod operate;
mod produce;
mod settings;
mod topics;

pub(super) use admin::{Admin, AdminError, Described, NewTopic};
pub(super) use code::{Code, RespErr};
pub(super) use consume::{Consumer, Message, Waker};
pub(super) use handle::Handle;
pub(super) use produce::{Producer, Report};
pub(super) use settings::{Resource, Setting};
pub(super) use topics::FoundTopic;

//! What an operator asks of the cluster and orders, beside what a manager does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rdkafka::bindings as rd;

use super::admin::{Admin, AdminError, Request, empty, slice};
use super::code::{Code, RespErr, text};
use super::handle::{c_string, millis};

/// Brokers that a cluster speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct KnownBrokers {
    /// Address by id of those that run.
    pub running: BTreeMap<i32, String>,
    /// Those, and all that hold replicas of a topic that the login may see.
    pub all: BTreeSet<i32>,
}

impl Admin {
    /// All brokers: the ones that run, as any broker tells them, and the ones that replicas are placed on, which may be
    /// down.
    pub fn known_brokers(&self, timeout: Duration) -> Result<KnownBrokers, AdminError> {
        let mut metadata = std::ptr::null();
        // SAFETY: a live client; the answer is owned by us if there is one.
        let code = Code::of(unsafe {
            rd::rd_kafka_metadata(self.handle().rk(), 1, std::ptr::null_mut(), &raw mut metadata, millis(timeout))
        });
        if code.is(RespErr::RD_KAFKA_RESP_ERR__TRANSPORT) {
            // Said when no broker came up in time.
            return Err(AdminError { code: Code::of(RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT), reason: code.to_string() });
        }
        if !code.is_ok() {
            return Err(AdminError { code, reason: code.to_string() });
        }
        self.forget();
        let mut known = KnownBrokers::default();
        // SAFETY: a live answer, destroyed once and not used behind that; its arrays have the lengths that stand beside
        // them, and its texts are C strings.
        unsafe {
            let answer = &*metadata;
            for broker in slice(answer.brokers, usize::try_from(answer.broker_cnt).unwrap_or(0)) {
                known.running.insert(broker.id, format!("{}:{}", text(broker.host), broker.port));
                known.all.insert(broker.id);
            }
            for topic in slice(answer.topics, usize::try_from(answer.topic_cnt).unwrap_or(0)) {
                for partition in slice(topic.partitions, usize::try_from(topic.partition_cnt).unwrap_or(0)) {
                    let replicas = slice(partition.replicas, usize::try_from(partition.replica_cnt).unwrap_or(0));
                    known.all.extend(replicas.iter().copied().filter(|&id| id >= 0));
                }
            }
            rd::rd_kafka_metadata_destroy(metadata);
        }
        Ok(known)
    }

    /// Sets some settings of a topic, all of them or none; others stay.
    pub fn alter_topic(
        &self,
        topic: &str,
        settings: &[(&str, String)],
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), AdminError> {
        let name = c_string(topic);
        let operation = rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS;
        let request = Request::new(self.handle(), operation, timeout);
        // SAFETY: live client, options and queue, C strings; the resource is copied by the request and destroyed here,
        // an error is owned by us.
        unsafe {
            let resource =
                rd::rd_kafka_ConfigResource_new(rd::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC, name.as_ptr());
            if resource.is_null() {
                return Err(empty());
            }
            for (name, value) in settings {
                let set = rd::rd_kafka_AlterConfigOpType_t::RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET;
                let (name, value) = (c_string(name), c_string(value));
                let error =
                    rd::rd_kafka_ConfigResource_add_incremental_config(resource, name.as_ptr(), set, value.as_ptr());
                if !error.is_null() {
                    let reason = text(rd::rd_kafka_error_string(error));
                    rd::rd_kafka_error_destroy(error);
                    rd::rd_kafka_ConfigResource_destroy(resource);
                    return Err(AdminError { code: Code::of(RespErr::RD_KAFKA_RESP_ERR__INVALID_ARG), reason });
                }
            }
            let mut resources = [resource];
            let (rk, count) = (self.handle().rk(), resources.len());
            rd::rd_kafka_IncrementalAlterConfigs(rk, resources.as_mut_ptr(), count, request.options, request.queue);
            rd::rd_kafka_ConfigResource_destroy(resource);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        // SAFETY: a live answer; its array has the length that stands beside it, its elements live as long as it.
        unsafe {
            let result = rd::rd_kafka_event_IncrementalAlterConfigs_result(answer.0);
            let mut count = 0;
            let resources = rd::rd_kafka_IncrementalAlterConfigs_result_resources(result, &raw mut count);
            let Some(&resource) = slice(resources.cast_const(), count).first() else { return Err(empty()) };
            let code = Code::of(rd::rd_kafka_ConfigResource_error(resource));
            if code.is_ok() {
                return Ok(());
            }
            Err(AdminError { code, reason: text(rd::rd_kafka_ConfigResource_error_string(resource)) })
        }
    }
}

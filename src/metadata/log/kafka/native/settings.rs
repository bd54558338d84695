//! The question for what a topic or a broker is set to.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::admin::{Admin, AdminError, Request, empty, slice};
use super::code::{Code, text};
use super::handle::c_string;

/// A setting as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Setting {
    pub value: String,
    /// Whether the topic itself has it: not a default of brokers.
    pub is_own: bool,
}

/// What has settings, by name; a broker's name is its number.
pub(in super::super) enum Resource<'a> {
    Topic(&'a str),
    Broker(&'a str),
}

impl Admin {
    /// Settings by name; those without a value, or whose value is a secret, are left out.
    pub fn settings(
        &self,
        of: &Resource<'_>,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<String, String>, AdminError> {
        let described = self.described(of, timeout, stop)?;
        Ok(described.into_iter().map(|(name, setting)| (name, setting.value)).collect())
    }

    /// As [`Admin::settings`], with where each comes from.
    pub fn described(
        &self,
        of: &Resource<'_>,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<String, Setting>, AdminError> {
        let (kind, name) = match of {
            Resource::Topic(name) => (rd::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC, c_string(name)),
            Resource::Broker(name) => (rd::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_BROKER, c_string(name)),
        };
        let operation = rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS;
        let request = Request::new(self.handle(), operation, timeout);
        // SAFETY: live client, options and queue, a C string; the resource is copied by the request and destroyed here.
        unsafe {
            let resource = rd::rd_kafka_ConfigResource_new(kind, name.as_ptr());
            if resource.is_null() {
                return Err(empty());
            }
            let mut resources = [resource];
            rd::rd_kafka_DescribeConfigs(
                self.handle().rk(),
                resources.as_mut_ptr(),
                resources.len(),
                request.options,
                request.queue,
            );
            rd::rd_kafka_ConfigResource_destroy(resource);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        // SAFETY: a live answer; its arrays have the lengths that stand beside them, their elements live as long as it,
        // and texts are null or C strings.
        unsafe {
            let result = rd::rd_kafka_event_DescribeConfigs_result(answer.0);
            let mut count = 0;
            let resources = rd::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
            let Some(&resource) = slice(resources, count).first() else { return Err(empty()) };
            let code = Code::of(rd::rd_kafka_ConfigResource_error(resource));
            if !code.is_ok() {
                return Err(AdminError { code, reason: text(rd::rd_kafka_ConfigResource_error_string(resource)) });
            }
            let entries = rd::rd_kafka_ConfigResource_configs(resource, &raw mut count);
            let pairs = slice(entries, count).iter().filter_map(|&entry| {
                let value = rd::rd_kafka_ConfigEntry_value(entry);
                let is_shown = !value.is_null() && rd::rd_kafka_ConfigEntry_is_sensitive(entry) != 1;
                let of_topic = rd::rd_kafka_ConfigSource_t::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
                let is_own = rd::rd_kafka_ConfigEntry_source(entry) == of_topic;
                is_shown.then(|| (text(rd::rd_kafka_ConfigEntry_name(entry)), Setting { value: text(value), is_own }))
            });
            Ok(pairs.collect())
        }
    }
}

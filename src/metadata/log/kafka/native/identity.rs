//! The question for a topic's id, which tells it from another one of its name.

use std::time::Duration;

use rdkafka::bindings as rd;

use super::admin::{Admin, AdminError, Request, empty, slice};
use super::code::{Code, text};
use super::handle::c_string;
use crate::model::KafkaUuid;

impl Admin {
    /// The id of a topic; nothing from brokers that know no ids. Waits for a controller, as [`Admin::describe`] does not.
    pub fn topic_id(
        &self,
        topic: &str,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<KafkaUuid>, AdminError> {
        let name = c_string(topic);
        let operation = rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let request = Request::new(self.handle(), operation, timeout);
        // SAFETY: live client, options and queue, an array of one C string; the collection is copied by the request and
        // destroyed here.
        unsafe {
            let mut names = [name.as_ptr()];
            let topics = rd::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
            if topics.is_null() {
                return Err(empty());
            }
            rd::rd_kafka_DescribeTopics(self.handle().rk(), topics, request.options, request.queue);
            rd::rd_kafka_TopicCollection_destroy(topics);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        // SAFETY: a live answer; its array has the length that stands beside it, its elements live as long as it; an
        // error is null or of the answer.
        unsafe {
            let result = rd::rd_kafka_event_DescribeTopics_result(answer.0);
            let mut count = 0;
            let topics = rd::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
            let Some(&topic) = slice(topics, count).first() else { return Err(empty()) };
            let error = rd::rd_kafka_TopicDescription_error(topic);
            let code = Code::of(rd::rd_kafka_error_code(error));
            if !code.is_ok() {
                return Err(AdminError { code, reason: text(rd::rd_kafka_error_string(error)) });
            }
            let id = rd::rd_kafka_TopicDescription_topic_id(topic);
            if id.is_null() {
                return Ok(None);
            }
            let id = KafkaUuid::from_halves(
                rd::rd_kafka_Uuid_most_significant_bits(id),
                rd::rd_kafka_Uuid_least_significant_bits(id),
            );
            Ok((id != KafkaUuid([0; 16])).then_some(id))
        }
    }
}

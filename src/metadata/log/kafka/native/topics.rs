//! The question for several topics at once: whether they are there, under which ids, and who leads their partitions.

use std::time::Duration;

use rdkafka::bindings as rd;

use super::admin::{Admin, AdminError, Described, Request, empty, slice};
use super::code::{Code, text};
use super::handle::c_string;
use crate::model::KafkaUuid;

/// A topic that there is. No id from brokers that know none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct FoundTopic {
    pub id: Option<KafkaUuid>,
    pub described: Described,
}

/// What was answered of one topic.
pub(in super::super) struct TopicAnswer {
    pub name: String,
    pub found: Result<FoundTopic, AdminError>,
}

impl Admin {
    /// The id of a topic, which tells it from another one of its name; nothing from brokers that know no ids.
    pub fn topic_id(
        &self,
        topic: &str,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<KafkaUuid>, AdminError> {
        let answer = self.topics(&[topic], timeout, stop)?.into_iter().next().ok_or_else(empty)?;
        answer.found.map(|found| found.id)
    }

    /// What brokers know of each topic, by name, in any order. Waits for a controller, as [`Admin::describe`] does not.
    pub fn topics(
        &self,
        names: &[&str],
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<TopicAnswer>, AdminError> {
        let names: Vec<_> = names.iter().map(|name| c_string(name)).collect();
        let mut names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let operation = rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let request = Request::new(self.handle(), operation, timeout);
        // SAFETY: live client, options and queue, an array of C strings with its length; the collection is copied by the
        // request and destroyed here.
        unsafe {
            let topics = rd::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
            if topics.is_null() {
                return Err(empty());
            }
            rd::rd_kafka_DescribeTopics(self.handle().rk(), topics, request.options, request.queue);
            rd::rd_kafka_TopicCollection_destroy(topics);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        // SAFETY: a live answer; its array has the length that stands beside it.
        unsafe {
            let result = rd::rd_kafka_event_DescribeTopics_result(answer.0);
            let mut count = 0;
            let topics = rd::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
            Ok(slice(topics, count).iter().map(|&topic| read(topic)).collect())
        }
    }
}

/// # Safety
/// `topic` is of a live answer.
unsafe fn read(topic: *const rd::rd_kafka_TopicDescription_t) -> TopicAnswer {
    // SAFETY: as the caller promises; what a description points to lives as long as it, an error and an id may be null,
    // which the functions that read the error take.
    unsafe {
        let name = text(rd::rd_kafka_TopicDescription_name(topic));
        let error = rd::rd_kafka_TopicDescription_error(topic);
        let code = Code::of(rd::rd_kafka_error_code(error));
        if !code.is_ok() {
            let reason = text(rd::rd_kafka_error_string(error));
            return TopicAnswer { name, found: Err(AdminError { code, reason }) };
        }
        let id = rd::rd_kafka_TopicDescription_topic_id(topic);
        let id = (!id.is_null()).then(|| {
            KafkaUuid::from_halves(
                rd::rd_kafka_Uuid_most_significant_bits(id),
                rd::rd_kafka_Uuid_least_significant_bits(id),
            )
        });
        let mut count = 0;
        let partitions = rd::rd_kafka_TopicDescription_partitions(topic, &raw mut count);
        let mut leaders = vec![-1; count];
        for &partition in slice(partitions, count) {
            let number = usize::try_from(rd::rd_kafka_TopicPartitionInfo_partition(partition)).unwrap_or(usize::MAX);
            let leader = rd::rd_kafka_TopicPartitionInfo_leader(partition);
            if let Some(place) = leaders.get_mut(number).filter(|_| !leader.is_null()) {
                *place = rd::rd_kafka_Node_id(leader);
            }
        }
        let id = id.filter(|&id| id != KafkaUuid([0; 16]));
        TopicAnswer { name, found: Ok(FoundTopic { id, described: Described { leaders } }) }
    }
}

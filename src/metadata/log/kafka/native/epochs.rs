//! The question for leader epochs.

use std::collections::HashMap;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::admin::{Admin, AdminError, Request, empty, slice};
use super::code::{self, Code, text};
use super::handle::c_string;

impl Admin {
    /// The leader epochs that come with ListOffsets(LATEST), each the answering leader's own, of distinct partitions in
    /// their order. One request for each broker that leads some of them.
    pub fn latest_epochs(
        &self,
        partitions: &[(&str, i32)],
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Result<i32, Code>>, AdminError> {
        let request = Request::new(self.handle(), rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTOFFSETS, timeout);
        // SAFETY: live client, options and queue; names are copied by the list, which is copied by the request and
        // destroyed here.
        unsafe {
            let list = rd::rd_kafka_topic_partition_list_new(i32::try_from(partitions.len()).unwrap_or(0));
            for &(topic, partition) in partitions {
                let place = rd::rd_kafka_topic_partition_list_add(list, c_string(topic).as_ptr(), partition);
                (*place).offset = i64::from(rd::RD_KAFKA_OFFSET_END);
            }
            rd::rd_kafka_ListOffsets(self.handle().rk(), list, request.options, request.queue);
            rd::rd_kafka_topic_partition_list_destroy(list);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        let mut answers = HashMap::with_capacity(partitions.len());
        // SAFETY: a live answer; its array has the length that stands beside it, and each info has a partition.
        unsafe {
            let result = rd::rd_kafka_event_ListOffsets_result(answer.0);
            let mut count = 0;
            let infos = rd::rd_kafka_ListOffsets_result_infos(result, &raw mut count);
            for &info in slice(infos, count) {
                let place = rd::rd_kafka_ListOffsetsResultInfo_topic_partition(info);
                let code = code::read(&raw const (*place).err);
                let epoch = match code.is_ok() {
                    true => Ok(rd::rd_kafka_topic_partition_get_leader_epoch(place)),
                    false => Err(code),
                };
                answers.insert((text((*place).topic), (*place).partition), epoch);
            }
        }
        // In any order, as they come from several brokers.
        let answer_of = |&(topic, partition): &(&str, i32)| {
            answers.remove(&(topic.to_owned(), partition)).unwrap_or_else(|| Err(empty().code))
        };
        Ok(partitions.iter().map(answer_of).collect())
    }
}

//! librdkafka's codes as errors of the log.

use super::TOPIC;
use super::native::{AdminError, Code, RespErr};
use crate::metadata::log::LogError;

const LOGIN_OR_RIGHTS: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__AUTHENTICATION,
    RespErr::RD_KAFKA_RESP_ERR__SSL,
    RespErr::RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
    RespErr::RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM,
    RespErr::RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE,
    RespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
    RespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
    RespErr::RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    RespErr::RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
];
const NOT_THIS_LOG: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
    RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
    RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
    RespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
    RespErr::RD_KAFKA_RESP_ERR_INVALID_RECORD,
    RespErr::RD_KAFKA_RESP_ERR_INVALID_CONFIG,
    RespErr::RD_KAFKA_RESP_ERR_INVALID_PARTITIONS,
];
const DAMAGED: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__BAD_MSG,
    RespErr::RD_KAFKA_RESP_ERR__BAD_COMPRESSION,
    RespErr::RD_KAFKA_RESP_ERR_INVALID_MSG,
];
const TIMED_OUT: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
    RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT,
    RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
];
const GIVEN_UP: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__PURGE_QUEUE,
    RespErr::RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
    RespErr::RD_KAFKA_RESP_ERR__DESTROY,
];

/// Whether an error tells of a login that fails, or of rights that are missing. With TLS 1.3 a broker refuses a client's
/// certificate after the handshake, which librdkafka takes for a lost connection.
pub(super) fn is_refusal(code: Code, why: &str) -> bool {
    let alert = code.is(RespErr::RD_KAFKA_RESP_ERR__TRANSPORT) && why.contains("SSL alert");
    alert || code.is_any(LOGIN_OR_RIGHTS)
}

/// What `code` means for a caller; `why` is what was said with it, `waited_ms` how long was waited.
pub(super) fn error(what: &str, servers: &str, code: Code, why: &str, waited_ms: u64) -> LogError {
    let (what, log) = (what.to_owned(), format!("topic {TOPIC} at {servers}"));
    let why = match why {
        "" => code.to_string(),
        why => why.to_owned(),
    };
    if is_refusal(code, &why) {
        LogError::Refused { what, log, why }
    } else if code.is_any(NOT_THIS_LOG) {
        LogError::Mismatch { what, log, why }
    } else if code.is_any(DAMAGED) {
        LogError::Corrupt { what, log, why }
    } else if code.is_any(TIMED_OUT) {
        LogError::Timeout { what, log, waited_ms }
    } else if code.is_any(GIVEN_UP) {
        LogError::Closed { what }
    } else {
        // All others are a broker's or the network's, and librdkafka retried what can be retried.
        LogError::Unreachable { what, log, why }
    }
}

/// A record's error. One that was given up because its client failed for good was perhaps written.
pub(super) fn append(what: &str, servers: &str, code: Code, waited_ms: u64) -> LogError {
    if code.is_any(GIVEN_UP) || code.is(RespErr::RD_KAFKA_RESP_ERR__FATAL) {
        let log = format!("topic {TOPIC} at {servers}");
        return LogError::Timeout { what: what.to_owned(), log, waited_ms };
    }
    error(what, servers, code, "", waited_ms)
}

/// A question's error. One that ran out of time is told by what was said beside it: a refused login, or a broker that
/// isn't there.
pub(super) fn question(what: &str, servers: &str, failed: &AdminError, beside: &[(Code, String)]) -> LogError {
    if !failed.code.is_any(TIMED_OUT) {
        return error(what, servers, failed.code, &failed.reason, 0);
    }
    let (what, log) = (what.to_owned(), format!("topic {TOPIC} at {servers}"));
    match beside.iter().rev().find(|(code, why)| is_refusal(*code, why)).or_else(|| first_reason(beside)) {
        Some((code, why)) if is_refusal(*code, why) => LogError::Refused { what, log, why: why.clone() },
        Some((_, why)) => LogError::Unreachable { what, log, why: why.clone() },
        None => LogError::Unreachable { what, log, why: failed.reason.clone() },
    }
}

/// The first that isn't the summary "all brokers are down".
fn first_reason(beside: &[(Code, String)]) -> Option<&(Code, String)> {
    beside.iter().find(|(code, _)| !code.is(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)).or_else(|| beside.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed_out() -> AdminError {
        AdminError { code: Code::of(RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT), reason: "timed out".to_owned() }
    }

    #[test]
    fn a_question_without_answer_is_told_by_the_refused_login_beside_it() {
        let beside = [
            (Code::of(RespErr::RD_KAFKA_RESP_ERR__TRANSPORT), "connection closed".to_owned()),
            (Code::of(RespErr::RD_KAFKA_RESP_ERR__AUTHENTICATION), "wrong password".to_owned()),
            (Code::of(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN), "1/1 brokers are down".to_owned()),
        ];
        let error = question("describe", "a:1", &timed_out(), &beside);
        assert!(matches!(&error, LogError::Refused { why, .. } if why == "wrong password"), "{error}");
        assert!(!error.is_retriable());
    }

    #[test]
    fn a_question_without_answer_is_told_by_the_broker_that_is_away() {
        let beside = [
            (Code::of(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN), "1/1 brokers are down".to_owned()),
            (Code::of(RespErr::RD_KAFKA_RESP_ERR__TRANSPORT), "connection refused".to_owned()),
        ];
        let error = question("describe", "a:1", &timed_out(), &beside);
        assert!(matches!(&error, LogError::Unreachable { why, .. } if why == "connection refused"), "{error}");
        assert!(error.is_retriable());
    }

    #[test]
    fn a_certificate_that_a_broker_refuses_is_a_refusal() {
        let why = "Receive failed: SSL routines::sslv3 alert bad certificate: SSL alert number 42".to_owned();
        let beside = [(Code::of(RespErr::RD_KAFKA_RESP_ERR__TRANSPORT), why)];
        assert!(matches!(question("describe", "a:1", &timed_out(), &beside), LogError::Refused { .. }));
    }

    #[test]
    fn codes_fall_into_what_a_caller_would_do() {
        let kind = |code| error("append", "a:1", Code::of(code), "", 7);
        assert!(matches!(kind(RespErr::RD_KAFKA_RESP_ERR__MSG_TIMED_OUT), LogError::Timeout { waited_ms: 7, .. }));
        assert!(matches!(kind(RespErr::RD_KAFKA_RESP_ERR__PURGE_INFLIGHT), LogError::Closed { .. }));
        assert!(matches!(kind(RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION), LogError::Mismatch { .. }));
        assert!(matches!(kind(RespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED), LogError::Refused { .. }));
        assert!(matches!(kind(RespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS), LogError::Unreachable { .. }));
    }
}

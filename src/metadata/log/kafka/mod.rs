//! The topic `__remote_log_metadata`, through librdkafka. (being built)

use super::*;

static COUNT: Key = key("a.count", Kind::Integer { min: 1, max: 10 }, Some("3"));
static FREE: Key = key("a.free", Kind::Integer { min: -1, max: i64::MAX }, None);
static FLAG: Key = key("a.flag", Kind::Boolean, None);
static WORD: Key = key("a.word", Kind::Choice(&["left", "right"]), Some("left"));
static TEXT: Key = key("a.text", Kind::Text, None);
static SECRET: Key = key("a.secret", Kind::Password, None);
static OTHER_SIDE: Key = Key { side: Side::Metadata, ..key("elsewhere", Kind::Text, None) };
static TABLE: [&Key; 7] = [&COUNT, &FREE, &FLAG, &WORD, &TEXT, &SECRET, &OTHER_SIDE];

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>) -> Key {
    Key { name, side: Side::Storage, kind, default, text: "" }
}

fn config(pairs: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    pairs.iter().for_each(|(key, value)| config.set(key, value));
    config
}

#[test]
fn an_unset_key_has_its_default() {
    let config = config(&[]);
    assert_eq!(config.unsigned(&COUNT), Ok(3));
    assert_eq!(config.integer(&FREE), Ok(None));
    assert_eq!(config.boolean(&FLAG), Ok(false));
    assert_eq!(config.choice(&WORD), Ok("left"));
    assert_eq!(config.text(&TEXT), None);
    assert!(matches!(config.unsigned(&FREE), Err(ConfigError::Missing { .. })));
}

#[test]
fn values_are_read_as_kafka_reads_them() {
    let config = config(&[("a.count", " 10 "), ("a.free", "-1"), ("a.flag", " TRUE"), ("a.word", "right ")]);
    assert_eq!(config.check_against(&TABLE, Side::Storage, &[]), Ok(Vec::new()));
    assert_eq!(config.integer(&COUNT), Ok(Some(10)));
    assert_eq!(config.millis(&COUNT), Ok(Duration::from_millis(10)));
    assert_eq!(config.integer(&FREE), Ok(Some(-1)));
    assert_eq!(config.boolean(&FLAG), Ok(true));
    assert_eq!(config.choice(&WORD), Ok("right"));
    assert!(config.unsigned(&FREE).is_err(), "-1 is no unsigned number");
}

#[test]
fn a_bad_value_is_named_with_its_key_and_range() {
    for (key, value, message) in [
        ("a.count", "11", "a.count = `11`: out of range; expected: 1 to 10"),
        ("a.count", "0", "a.count = `0`: out of range; expected: 1 to 10"),
        ("a.count", "ten", "a.count = `ten`: not a whole number; expected: 1 to 10"),
        ("a.count", "", "a.count = ``: not a whole number; expected: 1 to 10"),
        ("a.free", "1e3", "a.free = `1e3`: not a whole number; expected: at least -1"),
        ("a.free", "9223372036854775808", "a.free = `9223372036854775808`: not a whole number; expected: at least -1"),
        ("a.flag", "yes", "a.flag = `yes`: not a boolean; expected: true or false"),
        ("a.word", "up", "a.word = `up`: not one of the choices; expected: left, right"),
    ] {
        let error = config(&[(key, value)]).check_against(&TABLE, Side::Storage, &[]).expect_err("bad");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_bad_value_is_found_by_the_room_that_asks_too() {
    let config = config(&[("a.count", "11"), ("a.flag", "yes"), ("a.word", "up")]);
    assert!(config.integer(&COUNT).is_err());
    assert!(config.boolean(&FLAG).is_err());
    assert!(config.choice(&WORD).is_err());
}

#[test]
fn unknown_keys_are_all_listed_and_harm_nothing() {
    let config = config(&[("a.counts", "5"), ("elsewhere", "x"), ("client.anything", "y"), ("unlike.all", "z")]);
    let warnings = config.check_against(&TABLE, Side::Storage, &["client."]).expect("only warnings");
    let texts: Vec<_> = warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        texts,
        [
            "unknown configuration key `a.counts` is ignored; did you mean `a.count`?",
            "unknown configuration key `elsewhere` is ignored",
            "unknown configuration key `unlike.all` is ignored",
        ]
    );
}

#[test]
fn a_missing_value_says_what_for_it_is_needed() {
    for config in [config(&[]), config(&[("a.text", "  ")])] {
        let error = config.required(&TEXT, "the store needs a place").expect_err("missing");
        assert_eq!(error.to_string(), "a.text is not set: the store needs a place");
    }
}

#[test]
fn no_secret_is_ever_shown() {
    for error in
        [ConfigError::bad_value(&SECRET, "hunter2", "too short"), ConfigError::unsupported(&SECRET, "hunter2", "no")]
    {
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        assert!(error.to_string().contains("[hidden]"));
    }
    // A client's key is not in the table, so nobody knows whether it is a secret.
    let config = config(&[
        ("remote.log.metadata.common.client.sasl.jaas.config", "hunter2"),
        ("undercroft.metadata.log", "kafka"),
    ]);
    let shown = format!("{config:?}");
    assert!(!shown.contains("hunter2") && shown.contains("sasl.jaas.config") && shown.contains("kafka"), "{shown}");
}

#[test]
fn a_prefix_is_taken_off() {
    let config = config(&[("producer.linger.ms", "5"), ("producers", "x"), ("consumer.linger.ms", "6")]);
    assert_eq!(config.with_prefix("producer.").collect::<Vec<_>>(), [("linger.ms", "5")]);
    assert_eq!(config.raw("producers"), Some("x"));
}

#[test]
fn the_last_value_of_a_key_wins() {
    assert_eq!(config(&[("a.count", "4"), ("a.count", "5")]).unsigned(&COUNT), Ok(5));
}

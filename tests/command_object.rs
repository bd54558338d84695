//! `undercroft object list | inspect | verify` over folders: good objects of both layouts, and each kind of damage.

#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "a test's way to fail and to wait")]

#[path = "support/aiven.rs"]
mod aiven;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use aiven::{MAIN, SUFFIXES, data};
use serde_json::Value;
use support::{Sample, folder_manager, objects_below};

/// A store, and a file with its configuration beside it.
struct Bucket {
    folder: tempfile::TempDir,
}

struct Ran {
    code: Option<i32>,
    lines: Vec<Value>,
    error: String,
}

impl Bucket {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bucket = Self { folder };
        fs::create_dir(bucket.root()).expect("created");
        let key = |name: &str| data(name).display().to_string();
        let lines = [
            "storage.backend.class=filesystem".to_owned(),
            format!("storage.root={}", bucket.root().display()),
            "key.prefix=p/".to_owned(),
            "encryption.enabled=false".to_owned(),
            "encryption.key.pair.id=key1".to_owned(),
            "encryption.key.pairs=key1".to_owned(),
            format!("encryption.key.pairs.key1.private.key.file={}", key("priv.pem")),
            format!("encryption.key.pairs.key1.public.key.file={}", key("pub.pem")),
        ];
        // As a broker's file has them, among others.
        let text: String = lines.iter().map(|line| format!("rsm.config.{line}\n")).collect();
        fs::write(bucket.config(), text + "broker.id=1\n").expect("written");
        bucket
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("server.properties")
    }

    /// Puts a segment of Aiven's plugin there.
    fn aiven(self, of: &str) -> Self {
        for suffix in SUFFIXES {
            let path = self.object(suffix);
            fs::create_dir_all(path.parent().expect("a parent")).expect("created");
            fs::copy(data(&format!("{of}.{suffix}")), path).expect("copied");
        }
        self
    }

    fn object(&self, suffix: &str) -> PathBuf {
        self.root().join(format!("p/{MAIN}.{suffix}"))
    }

    /// Copies a segment of a topic there, in the compact layout.
    fn compact(self, topic: &str, size: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let manager = folder_manager(&self.root(), &[("key.prefix", "p/")]);
            Sample::of_topic(topic, size).copy(&manager).await.expect("copied");
            manager.close().await;
        });
        self
    }

    fn command(&self, subcommand: &str, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
        command.args(["object", subcommand, "--config"]).arg(self.config()).args(more);
        command.output().expect("the command starts")
    }

    fn json(&self, subcommand: &str, more: &[&str]) -> Ran {
        let output = self.command(subcommand, &[more, &["--json"]].concat());
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        Ran { code: output.status.code(), lines, error: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    fn verify(&self, more: &[&str]) -> Ran {
        self.json("verify", more)
    }
}

impl Ran {
    fn summary(&self) -> &Value {
        let last = self.lines.last().unwrap_or_else(|| panic!("nothing was said: {}", self.error));
        assert_eq!(last["type"], "summary", "{last}");
        last
    }

    /// Severity, end of the object's name, place.
    fn findings(&self) -> Vec<(String, String, String)> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = self.lines.iter().filter(|row| row["type"] == "finding");
        rows.map(|row| {
            let object = text(row, "object");
            let end = object.rsplit_once('.').map_or(object.clone(), |(_, end)| end.to_owned());
            (text(row, "severity"), end, text(row, "place"))
        })
        .collect()
    }

    /// Exit code and findings.
    #[track_caller]
    fn expect(&self, code: i32, findings: &[(&str, &str, &str)]) {
        let found = self.findings();
        let found: Vec<_> = found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!((self.code, found.as_slice()), (Some(code), findings), "{:?} {}", self.lines, self.error);
    }
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("there");
    change(&mut bytes);
    fs::write(path, bytes).expect("written");
}

const MODES: [&str; 8] =
    ["kafka38/m0", "kafka38/m1", "kafka38/m2", "kafka38/m3", "kafka4/m0", "kafka4/m1", "kafka4/m2", "kafka4/m3"];

#[test]
fn segments_of_both_layouts_are_listed_with_what_they_lack() {
    let bucket = Bucket::new().aiven("kafka4/m3").compact("orders", 200_000);
    fs::remove_file(bucket.object("indexes")).expect("removed");
    fs::write(bucket.root().join("p/notes.txt"), "x").expect("written");
    let ran = bucket.json("list", &[]);
    assert_eq!((ran.code, ran.lines.len()), (Some(0), 4), "{}", ran.error);
    let of = |kind: &str, name: &str, value: &str| {
        let row = ran.lines.iter().find(|row| row["type"] == kind && row[name] == value);
        row.unwrap_or_else(|| panic!("no {kind} with {name} {value}: {:?}", ran.lines)).clone()
    };
    let (half, whole) = (of("segment", "topic", "topic1"), of("segment", "topic", "orders"));
    assert_eq!((&half["layout"], &half["partition"], &half["startOffset"]), (&"aiven".into(), &42.into(), &23.into()));
    assert_eq!(
        (&half["segmentId"], &half["lacks"]),
        (&"adh9f8BMS4anaUnD8KWfWg".into(), &serde_json::json!(["indexes"]))
    );
    assert_eq!((&whole["layout"], &whole["lacks"]), (&"compact".into(), &serde_json::json!([])));
    assert_eq!(of("foreign", "object", "p/notes.txt")["bytes"], 1);
    let sum = ran.summary();
    assert_eq!((&sum["segments"], &sum["incomplete"], &sum["foreign"]), (&2.into(), &1.into(), &1.into()));

    let one = bucket.json("list", &["--topic", "orders"]);
    assert_eq!((one.lines.len(), &one.lines[0]["topic"]), (2, &"orders".into()), "{}", one.error);
    let none = bucket.json("list", &["--topic", "order"]);
    assert_eq!((none.code, none.summary()["segments"].as_u64()), (Some(0), Some(0)));
    let text = String::from_utf8(bucket.command("list", &["--prefix="]).stdout).expect("UTF-8");
    assert!(text.contains("topic1-42  LACKS .indexes") && text.contains("orders-3\n"), "{text}");
    assert!(text.contains("2 segments (") && text.contains("1 of them incomplete; 1 foreign objects"), "{text}");
}

#[test]
fn what_is_whole_is_good_light_and_heavy() {
    for mode in MODES {
        let bucket = Bucket::new().aiven(mode).compact("orders", 200_000).compact("empty", 0);
        for depth in [&[][..], &["--heavy"], &["--heavy", "--parallel", "1", "--rate-limit", "100MiB"]] {
            let ran = bucket.verify(depth);
            // The example is no segment of a broker: it has no record batches that could be checked.
            let is_unchecked = !depth.is_empty();
            ran.expect(0, if is_unchecked { &[("notice", "log", "")] } else { &[] });
            let sum = ran.summary();
            assert_eq!(
                (&sum["segments"], &sum["good"], &sum["cutShort"]),
                (&3.into(), &3.into(), &Value::Null),
                "{mode}"
            );
        }
    }
}

#[test]
fn a_flipped_bit_in_data_or_indexes_is_found_by_a_heavy_check_only() {
    for mode in ["kafka4/m1", "kafka38/m2", "kafka4/m3"] {
        for (at, chunk) in [(30, "chunk 0"), (usize::MAX, "chunk 2")] {
            let bucket = Bucket::new().aiven(mode);
            change(&bucket.object("log"), |bytes| {
                // The last byte of a frame may have bits that nothing needs; those of a tag count all.
                let at = if mode.ends_with("m1") { at.min(bytes.len() - 5) } else { at.min(bytes.len() - 1) };
                let at = if mode.ends_with("m1") && chunk == "chunk 0" { 4 } else { at };
                bytes[at] ^= 0x20;
            });
            bucket.verify(&[]).expect(0, &[]);
            let ran = bucket.verify(&["--heavy"]);
            // zstd frames of the plugin have no checksum: a changed literal is none of its business.
            if !mode.ends_with("m1") || chunk == "chunk 0" {
                ran.expect(1, &[("corrupt", "log", chunk)]);
                assert_eq!(ran.summary()["corrupt"], 1);
            }
        }
    }
    let bucket = Bucket::new().aiven("kafka4/m3");
    change(&bucket.object("indexes"), |bytes| bytes[40] ^= 1);
    bucket.verify(&[]).expect(0, &[]);
    let unplaced = ("notice", "log", "");
    bucket.verify(&["--heavy"]).expect(1, &[unplaced, ("corrupt", "indexes", "producer snapshot")]);

    let bucket = Bucket::new().compact("orders", 200_000);
    let object = objects_below(&bucket.root()).remove(0);
    let length = fs::metadata(&object).expect("there").len();
    change(&object, |bytes| {
        bytes[5] ^= 1;
        bytes[150_000] ^= 1;
    });
    bucket.verify(&[]).expect(0, &[]);
    bucket.verify(&["--heavy"]).expect(1, &[("corrupt", "ucseg", "chunk 0"), ("corrupt", "ucseg", "chunk 2")]);
    change(&object, |bytes| {
        bytes[5] ^= 1;
        bytes[150_000] ^= 1;
        bytes[200_030] ^= 1;
    });
    assert!(length > 200_030);
    bucket.verify(&["--heavy"]).expect(1, &[("corrupt", "ucseg", "offset index")]);
}

#[test]
fn a_damaged_footer_or_manifest_is_found_by_a_light_check() {
    let bucket = Bucket::new().compact("orders", 1000);
    let object = objects_below(&bucket.root()).remove(0);
    change(&object, |bytes| {
        let at = bytes.len() - 40;
        bytes[at] ^= 1;
    });
    bucket.verify(&[]).expect(1, &[("corrupt", "ucseg", "the footer")]);
    change(&object, |bytes| bytes.truncate(500));
    bucket.verify(&[]).expect(1, &[("corrupt", "ucseg", "the footer")]);
    change(&object, Vec::clear);
    bucket.verify(&[]).expect(1, &[("corrupt", "ucseg", "the footer")]);

    let replaced = |from: &str, to: &str| {
        let bucket = Bucket::new().aiven("kafka4/m0");
        let path = bucket.object("rsm-manifest");
        let text = fs::read_to_string(&path).expect("UTF-8");
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).expect("written");
        bucket
    };
    for (from, to) in [
        ("\"compression\":false", "\"compression\":0"),
        ("\"originalChunkSize\":1000", "\"originalChunkSize\":-1"),
        ("\"version\"", "\"versiom\""),
        ("{\"version\"", "[\"version\""),
        ("adh9f8BMS4anaUnD8KWfWg", "bdh9f8BMS4anaUnD8KWfWg"),
        ("\"partition\":42", "\"partition\":43"),
    ] {
        replaced(from, to).verify(&[]).expect(1, &[("corrupt", "rsm-manifest", "the manifest")]);
    }
    // Newer than we are is not corrupt.
    replaced("\"version\":\"1\"", "\"version\":\"2\"").verify(&[]).expect(2, &[("untold", "rsm-manifest", "")]);
}

#[test]
fn an_object_that_is_cut_or_too_long_is_found_by_a_light_check() {
    for suffix in ["log", "indexes"] {
        let bucket = Bucket::new().aiven("kafka38/m3");
        change(&bucket.object(suffix), |bytes| bytes.truncate(bytes.len() - 1));
        bucket.verify(&[]).expect(1, &[("corrupt", suffix, "")]);
        bucket.verify(&["--heavy"]).expect(1, &[("corrupt", suffix, "")]);
        change(&bucket.object(suffix), |bytes| bytes.extend([0; 2]));
        bucket.verify(&[]).expect(1, &[("corrupt", suffix, "")]);
    }
    let bucket = Bucket::new().aiven("kafka38/m3");
    change(&bucket.object("rsm-manifest"), |bytes| bytes.truncate(bytes.len() / 2));
    bucket.verify(&[]).expect(1, &[("corrupt", "rsm-manifest", "the manifest")]);
}

#[test]
fn each_missing_object_of_three_is_named() {
    for suffix in SUFFIXES {
        let bucket = Bucket::new().aiven("kafka4/m2");
        fs::remove_file(bucket.object(suffix)).expect("removed");
        for depth in [&[][..], &["--heavy"]] {
            let ran = bucket.verify(depth);
            ran.expect(1, &[("missing", suffix, "")]);
            assert_eq!(ran.summary()["missing"], 1);
        }
    }
}

#[test]
fn foreign_objects_are_told_and_are_no_fault() {
    let bucket = Bucket::new().aiven("kafka4/m1");
    for name in ["p/readme", "p/topic1-x/0/1.log", ".other"] {
        let path = bucket.root().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, "some text").expect("written");
    }
    let ran = bucket.verify(&["--heavy", "--prefix="]);
    // One more is of the example, which has no record batches.
    assert_eq!((ran.code, ran.findings().len(), &ran.summary()["foreign"]), (Some(0), 4, &3.into()), "{}", ran.error);
    assert!(ran.findings().iter().all(|(severity, ..)| severity == "notice"));
    let of_topic = bucket.verify(&["--topic", "topic1"]);
    of_topic.expect(0, &[]);
}

#[test]
fn an_object_under_another_segments_name_is_corrupt() {
    let bucket = Bucket::new().compact("orders", 1000);
    let object = objects_below(&bucket.root()).remove(0);
    let other = object.with_file_name("00000000000000000100-adh9f8BMS4anaUnD8KWfWg.ucseg");
    fs::rename(&object, other).expect("renamed");
    bucket.verify(&[]).expect(1, &[("corrupt", "ucseg", "the footer")]);
}

#[test]
fn what_could_not_be_told_is_neither_good_nor_corrupt() {
    // No key.
    let bucket = Bucket::new().aiven("kafka4/m2");
    let text = fs::read_to_string(bucket.config()).expect("there");
    let without: String =
        text.lines().filter(|line| !line.contains("key1.private")).map(|l| format!("{l}\n")).collect();
    fs::write(bucket.config(), without).expect("written");
    let ran = bucket.verify(&["--heavy"]);
    ran.expect(2, &[("untold", "rsm-manifest", "")]);
    assert_eq!(ran.summary()["untold"], 1);

    // No store: the listing itself can't be had.
    let bucket = Bucket::new();
    fs::remove_dir(bucket.root()).expect("removed");
    let ran = bucket.verify(&[]);
    assert_eq!(ran.code, Some(2), "{:?}", ran.lines);
    assert_eq!(ran.findings(), [("untold".to_owned(), "p/".to_owned(), "the listing".to_owned())]);
    assert!(ran.summary()["cutShort"].is_string());
    assert_eq!(bucket.command("list", &[]).status.code(), Some(2));

    // A topic that nobody knows, a file that isn't there, a configuration that makes no sense.
    let bucket = Bucket::new().aiven("kafka4/m2");
    let ran = bucket.verify(&["--topic", "topic2"]);
    assert!(ran.code == Some(2) && ran.error.contains("no segment of topic topic2"), "{}", ran.error);
    fs::write(bucket.config(), "rsm.config.storage.backend.class=floppy\n").expect("written");
    let ran = bucket.verify(&[]);
    assert!(ran.code == Some(2) && ran.error.contains("storage.backend.class"), "{}", ran.error);
    fs::remove_file(bucket.config()).expect("removed");
    let ran = bucket.verify(&[]);
    assert!(ran.code == Some(2) && ran.error.contains("server.properties: No such file"), "{}", ran.error);
}

#[test]
#[cfg(unix)]
fn forbidden_is_never_missing() {
    use std::os::unix::fs::PermissionsExt as _;

    let bucket = Bucket::new().aiven("kafka4/m2");
    let path = bucket.object("rsm-manifest");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("changed");
    if fs::read(&path).is_ok() {
        // Nothing is forbidden to root; `storage::survey` has the same over a store that says no.
        return;
    }
    let ran = bucket.verify(&[]);
    ran.expect(2, &[("untold", "rsm-manifest", "")]);
}

#[test]
fn people_get_lines_a_summary_and_progress() {
    let bucket = Bucket::new().aiven("kafka4/m2").compact("orders", 1000);
    fs::remove_file(bucket.object("log")).expect("removed");
    let output = bucket.command("verify", &["--heavy", "--progress", "bar"]);
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with(&format!("MISSING  p/{MAIN}.log: the object is not there")), "{out}");
    assert!(
        lines[1].contains("under `p/`: 2 segments (")
            && lines[1].contains("1 good, 0 corrupt, 1 with something missing"),
        "{out}"
    );
    let clean = String::from_utf8(bucket.command("verify", &["--topic", "orders"]).stderr).expect("UTF-8");
    assert!(clean.is_empty(), "{clean}");
}

#[test]
fn inspect_reads_files_and_objects_of_both_layouts() {
    let bucket = Bucket::new().aiven("kafka4/m3").compact("orders", 1000);
    for object in SUFFIXES.map(|suffix| format!("p/{MAIN}.{suffix}")) {
        let row = bucket.command("inspect", &[&object, "--json"]);
        let row: Value = serde_json::from_slice(&row.stdout).expect("JSON");
        assert_eq!((&row["layout"], &row["chunks"], &row["isCompressed"]), (&"aiven".into(), &3.into(), &true.into()));
        assert_eq!((&row["encryptionKeyPairId"], &row["indexesLengthBytes"]), (&"key1".into(), &131.into()));
    }
    let compact = objects_below(&bucket.root()).remove(0);
    let name = compact.strip_prefix(bucket.root()).expect("below").to_str().expect("UTF-8").to_owned();
    let text = String::from_utf8(bucket.command("inspect", &[&name]).stdout).expect("UTF-8");
    assert!(text.contains("segment size") && text.contains("1000 bytes"), "{text}");
    let gone = bucket.command("inspect", &["p/nothing.ucseg"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("the object is not there"));

    let of_file = |path: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
        command.args(["object", "inspect"]).arg(path).output().expect("the command starts")
    };
    let text = String::from_utf8(of_file(&bucket.object("rsm-manifest")).stdout).expect("UTF-8");
    assert!(text.contains("AES-256-GCM, key pair key1") && text.contains("producer snapshot"), "{text}");
    change(&bucket.object("rsm-manifest"), |bytes| bytes.truncate(100));
    let cut = of_file(&bucket.object("rsm-manifest"));
    assert!(String::from_utf8_lossy(&cut.stderr).contains(": not a manifest: no JSON: "));
    assert_eq!(cut.status.code(), Some(1));
    // One that is no manifest by its size alone is not read.
    let manifest = bucket.object("rsm-manifest");
    fs::File::create(&manifest).expect("created").set_len((16 << 20) + 1).expect("sparse");
    let error = String::from_utf8_lossy(&of_file(&manifest).stderr).into_owned();
    assert!(error.contains("it has more than 16777216 bytes"), "{error}");
    let name = format!("p/{MAIN}.rsm-manifest");
    let output = bucket.command("inspect", &[&name]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("it has more than 16777216 bytes"), "{error}");
    // Any of the three will do, if the manifest is there.
    let bucket = Bucket::new().aiven("kafka4/m3");
    for suffix in SUFFIXES {
        let text = String::from_utf8(of_file(&bucket.object(suffix)).stdout).expect("UTF-8");
        assert!(text.contains("key pair key1"), "{suffix}: {text}");
    }
    fs::remove_file(bucket.object("rsm-manifest")).expect("removed");
    for suffix in ["log", "indexes"] {
        let alone = of_file(&bucket.object(suffix));
        let error = String::from_utf8_lossy(&alone.stderr).into_owned();
        assert_eq!(alone.status.code(), Some(1), "{error}");
        assert!(error.contains("layout `aiven`") && error.contains(".rsm-manifest: "), "{error}");
    }
}

#[test]
fn inspect_tells_what_could_not_be_told_from_what_is_damaged_or_gone() {
    let code = |bucket: &Bucket, object: &str| {
        let output = bucket.command("inspect", &[object]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (bucket, name) = (Bucket::new().aiven("kafka4/m2"), format!("p/{MAIN}.log"));
    assert_eq!(code(&bucket, &name).0, Some(0));
    // Its prefix is not the configured one.
    let text = fs::read_to_string(bucket.config()).expect("there");
    fs::write(bucket.config(), text.replace("key.prefix=p/", "key.prefix=other")).expect("written");
    assert_eq!(code(&bucket, &name).0, Some(0));
    change(&bucket.object("rsm-manifest"), |bytes| bytes.truncate(100));
    let (status, error) = code(&bucket, &name);
    assert!(status == Some(1) && error.contains("is corrupt"), "{error}");
    fs::remove_file(bucket.object("rsm-manifest")).expect("removed");
    let (status, error) = code(&bucket, &name);
    assert!(status == Some(1) && error.contains("not there"), "{error}");
    fs::remove_dir_all(bucket.root()).expect("removed");
    let (status, error) = code(&bucket, &name);
    assert!(status == Some(2) && error.contains("mount its disk"), "{error}");
    fs::write(bucket.config(), "rsm.config.storage.backend.class=floppy\n").expect("written");
    assert_eq!(code(&bucket, &name).0, Some(2));
}

#[test]
fn what_cannot_be_listed_is_named_behind_all_that_can() {
    let bucket = Bucket::new().aiven("kafka4/m2").compact("orders", 1000);
    std::os::unix::fs::symlink("..", bucket.root().join("p/up")).expect("linked");
    let ran = bucket.json("list", &[]);
    let segments = ran.lines.iter().filter(|row| row["type"] == "segment").count();
    assert_eq!((ran.code, segments), (Some(2), 2), "{:?}", ran.lines);
    assert!(ran.error.contains("`p/up/p/`") && ran.error.contains("leads back"), "{}", ran.error);
    assert!(ran.lines.iter().all(|row| row["type"] != "summary"), "{:?}", ran.lines);
    let ran = bucket.verify(&["--heavy"]);
    assert_eq!((ran.code, &ran.summary()["good"]), (Some(2), &2.into()), "{:?}", ran.lines);
    assert!(ran.summary()["cutShort"].is_string());
}

#[test]
fn no_name_of_an_object_steers_a_terminal() {
    let bucket = Bucket::new();
    let name = "p/\u{1b}[2J\nGOOD all\u{9b}\u{202e}x";
    fs::create_dir_all(bucket.root().join("p")).expect("created");
    fs::write(bucket.root().join(name), "x").expect("written");
    for subcommand in ["list", "verify"] {
        let out = String::from_utf8(bucket.command(subcommand, &[]).stdout).expect("UTF-8");
        assert!(out.contains("p/\\u001b[2J\\nGOOD all\\u009b\\u202ex"), "{out}");
        assert!(out.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{out}");
        let ran = bucket.json(subcommand, &[]);
        assert_eq!(ran.lines[0]["object"], name, "JSON has the name itself");
    }
    let output = bucket.command("inspect", &["p/\u{1b}[2J.ucseg"]);
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(error.contains("\\u001b[2J") && !error.contains('\u{1b}'), "{error}");
}

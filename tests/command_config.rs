//! `undercroft config check` over files and stores that are wrong in some way.

#![allow(clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "a test's way to fail and to wait")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A run that must end soon: nothing that it is handed may make it wait.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    let (mut out, mut err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).expect("read");
        bytes
    });
    while child.try_wait().expect("waits").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("killed");
            panic!("{arguments:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut stderr = Vec::new();
    err.read_to_end(&mut stderr).expect("read");
    Output { status: child.wait().expect("ended"), stdout: reader.join().expect("read"), stderr }
}

struct Checked {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Checked {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

fn check_file(path: &Path, more: &[&str]) -> Checked {
    let output = run(&[&["config", "check", path.to_str().expect("UTF-8")], more].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Checked { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn check(lines: &str, more: &[&str]) -> Checked {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server.properties");
    std::fs::write(&path, lines).expect("written");
    check_file(&path, more)
}

/// An endpoint that says the same to everybody, and nothing that is a store's.
fn endpoint(answer: impl Into<Vec<u8>>) -> u16 {
    let (listener, answer) = (TcpListener::bind("127.0.0.1:0").expect("bound"), answer.into());
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.expect("a caller"), answer.clone());
            std::thread::spawn(move || {
                stream.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
                let mut buffer = [0; 65536];
                // Until the request has come: bodies are read as far as they arrive without a pause.
                while matches!(stream.read(&mut buffer), Ok(1..)) {}
                let _ = stream.write_all(&answer);
            });
        }
    });
    port
}

fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}")
}

fn s3(port: u16) -> String {
    format!(
        "storage.backend.class=s3\nstorage.s3.bucket.name=bkt\nstorage.s3.region=eu-1\n\
         storage.s3.endpoint.url=http://127.0.0.1:{port}\nstorage.s3.path.style.access.enabled=true\n\
         storage.aws.access.key.id=AKID\nstorage.aws.secret.access.key=wJalrXUtnFEMI-secret\n\
         storage.aws.session.token=FwoGZXIvYXdzEBYaDOtoken\n\
         storage.retry.attempts.max=2\nstorage.retry.delay.ms=1\n"
    )
}

#[test]
fn a_brokers_own_prefix_is_honoured() {
    let root = tempfile::tempdir().expect("a folder");
    let lines = format!(
        "remote.log.storage.manager.impl.prefix=tiers.\nrsm.config.storage.backend.class=floppy\n\
         tiers.storage.backend.class=filesystem\ntiers.storage.root={}\n",
        root.path().display()
    );
    let found = check(&lines, &["--json"]);
    assert_eq!((found.code, &found.json()["store"]["outcome"]), (Some(0), &"usable".into()), "{}", found.out);
    let is: Vec<_> = found.json()["keys"].as_array().expect("keys").iter().map(|key| key["is"].clone()).collect();
    assert_eq!(is, ["elsewhere", "elsewhere", "used", "used"]);
}

#[test]
fn what_a_start_would_refuse_is_refused_in_the_same_words_without_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    listener.set_nonblocking(true).expect("set");
    let good = s3(listener.local_addr().expect("bound").port());
    for (lines, words) in [
        ("storage.backend.class=s3\nstorage.s3.bucket.name=bkt\n".to_owned(), "storage.s3.region is not set"),
        (format!("{good}storage.proxy.port=1\n"), "storage.proxy.host is not set"),
        (format!("{good}storage.tls.ca.file=/dev/zero\n"), "it is not a file but a device"),
        (format!("{good}encryption.enabled=true\n"), "encryption.key.pair.id is not set"),
        (
            format!("{good}encryption.enabled=true\nencryption.key.pair.id=k\nencryption.key.pairs=k\n"),
            "encryption.key.pairs.k.private.key.file is not set",
        ),
        (format!("{good}storage.opendal.nonsense=1\n"), "the driver has no such option"),
        ("storage.root=/x\n".to_owned(), "storage.backend.class is not set"),
        // Only what the broker fills in is left to it.
        ("storage.backend.class=s3\nstorage.s3.region=${env:R}\n".to_owned(), "storage.s3.bucket.name is not set"),
    ] {
        let (alone, tried) = (check(&lines, &["--no-store", "--json"]), check(&lines, &["--json"]));
        let why = |found: &Checked| found.json()["store"]["why"].as_str().expect("a reason").to_owned();
        assert!(alone.code == Some(3) && why(&alone).contains(words), "{lines}\n{:?} {}", alone.code, alone.out);
        assert_eq!((tried.code, why(&tried)), (Some(3), why(&alone)), "{lines}");
    }
    let found = check(&good, &["--no-store"]);
    assert!(found.code == Some(0) && found.out.contains("was not tried: not asked for"), "{}", found.out);
    assert!(listener.accept().is_err(), "somebody was asked");
    let found = check(
        "storage.backend.class=s3\nstorage.s3.bucket.name=bkt\nstorage.s3.endpoint.url=${env:E}\n\
        storage.s3.region=r\nstorage.retry.attempts.max=${env:N}\n",
        &[],
    );
    assert!(found.code == Some(0) && found.out.contains("placeholder"), "{}", found.out);
}

#[test]
fn thousands_of_unknown_keys_are_told_in_a_moment() {
    let lines: String = (0..20_000).map(|at| format!("rsm.config.storage.unknown.{at}=x\n")).collect();
    let found = check(&lines, &["--no-store"]);
    assert!(found.code == Some(3) && found.out.lines().count() > 20_000, "{:?}", found.code);
}

#[test]
fn a_key_that_stands_twice_is_used_once() {
    let lines = "storage.backend.class=filesystem\nstorage.root=/first\nstorage.root=/second\n";
    let found = check(lines, &["--no-store", "--json"]).json();
    let rows: Vec<_> = found["keys"].as_array().expect("keys").iter().map(|key| (&key["value"], &key["is"])).collect();
    let expected = [("filesystem", "used"), ("/first", "overridden"), ("/second", "used")];
    assert_eq!(rows, expected.map(|(value, is)| (Value::from(value), Value::from(is))).each_ref().map(|(a, b)| (a, b)));
}

#[test]
fn what_is_no_file_is_said_and_never_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for (path, what) in [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device"), (folder.path(), "a folder")]
    {
        let found = check_file(path, &[]);
        assert!(found.code == Some(1) && found.err.contains(&format!("it is not a file but {what}")), "{}", found.err);
    }
    let lines = format!(
        "storage.backend.class=memory\nencryption.key.pairs=k\nencryption.enabled=true\nencryption.key.pair.id=k\n\
         encryption.key.pairs.k.private.key.file={}\n",
        pipe.display()
    );
    let found = check(&lines, &["--no-store"]);
    assert!(found.code == Some(3) && found.out.contains("not a file but a pipe"), "{}", found.out);
    let credentials = s3(1).replace("storage.aws.access.key.id=AKID\n", "").replace(
        "storage.aws.secret.access.key=wJalrXUtnFEMI-secret\nstorage.aws.session.token=FwoGZXIvYXdzEBYaDOtoken\n",
        &format!("storage.aws.credentials.file={}\n", pipe.display()),
    );
    let found = check(&credentials, &[]);
    assert!(found.code == Some(4) && found.out.contains("not a file but a pipe"), "{}", found.out);
}

#[test]
fn what_a_store_says_is_quoted_without_secrets_and_without_what_steers_a_terminal() {
    let said = format!(
        "<Error><Code>AccessDenied</Code><Message>\u{1b}[2J no: Authorization: AWS4-HMAC-SHA256 Signature=5eed5eed \
         wJalrXUtnFEMI-secret FwoGZXIvYXdzEBYaDOtoken \u{202e}{}</Message></Error>",
        "long ".repeat(50_000)
    );
    let port = endpoint(http("403 Forbidden", "Content-Type: application/xml\r\n", &said));
    let (text, json) = (check(&s3(port), &[]), check(&s3(port), &["--json"]));
    assert_eq!((text.code, json.code), (Some(4), Some(4)), "{}", text.out);
    let error = json.json()["store"]["steps"][0]["error"].as_str().expect("an error").to_owned();
    assert!(error.contains("AccessDenied: \\u{1b}[2J no: Authorization: [hidden]") && error.len() < 1000, "{error}");
    for found in [&text.out, &json.out] {
        let shown = ["5eed", "wJalrXUtnFEMI", "FwoGZXIvYXdz", "\u{1b}", "\u{202e}"].map(|part| found.contains(part));
        assert_eq!(shown, [false; 5], "{found}");
    }
}

#[test]
fn an_endpoint_that_is_no_store_is_told_as_such_and_never_as_damage() {
    let page = "<!DOCTYPE html><html><body>Welcome</body></html>";
    let html = "Content-Type: text/html\r\n";
    for (answer, kind, words) in [
        (http("401 Unauthorized", html, page), "refused", "status 401"),
        (http("401 Unauthorized", "", ""), "refused", "status 401"),
        (http("302 Found", "Location: https://login.example/\r\n", ""), "misconfigured", "to https://login.example/"),
        (http("301 Moved Permanently", "Location: http://u:pw@e/\r\n", page), "misconfigured", "http://[hidden]@e/"),
        (http("405 Method Not Allowed", html, page), "misconfigured", "a web page and not a store"),
        (http("404 Not Found", html, page), "misconfigured", "a web page and not a store"),
        (http("200 OK", html, page), "misconfigured", "a web page and not a store"),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "unreachable", "could not be reached"),
    ] {
        let found = check(&s3(endpoint(answer.clone())), &["--json"]);
        let steps = found.json()["store"]["steps"].clone();
        let failed = steps.as_array().expect("steps").iter().find(|step| !step["error"].is_null()).expect("a failure");
        let error = failed["error"].as_str().expect("words");
        assert!(failed["kind"] == kind && error.contains(words), "{answer}: {failed:#}");
        assert!(found.code == Some(4) && error.contains("check `storage."), "{answer}: {error}");
        assert!(!found.out.contains("corrupt"), "{answer}: {}", found.out);
    }
}

#[test]
fn a_write_that_something_else_than_a_store_says_is_done_fails_the_check() {
    for (headers, body, words) in [
        ("Content-Type: text/html\r\n", "<html>Back soon</html>", "a web page and not a store"),
        ("", "", "what answers is no store"),
        ("Content-Type: text/plain\r\n", "OK", "what answers is no store"),
    ] {
        let found = check(&s3(endpoint(http("200 OK", headers, body))), &["--json"]);
        let write = &found.json()["store"]["steps"][0];
        let error = write["error"].as_str().expect("words");
        assert!(write["step"] == "write" && write["kind"] == "misconfigured" && error.contains(words), "{write:#}");
        assert!(found.code == Some(4) && write["advice"].to_string().contains("a console"), "{write:#}");
    }
}

#[test]
fn an_endpoint_with_a_login_in_it_is_refused_and_not_shown() {
    for url in ["http://user:p4ssword@host:9000", "http://user@host", "https://host/?sig=s1gnature"] {
        let lines = s3(1).replace("http://127.0.0.1:1", url);
        for more in [&["--no-store"][..], &["--json"], &[]] {
            let found = check(&lines, more);
            assert!(found.code == Some(3) && found.out.contains("an endpoint has no login"), "{url}: {}", found.out);
            let shown = ["p4ssword", "user:", "user@", "s1gnature"].map(|part| found.out.contains(part));
            assert_eq!(shown, [false; 4], "{}", found.out);
        }
    }
}

#[test]
fn no_value_steers_a_terminal() {
    let lines = "storage.backend.class=\\u001b[2J\\u009b\\nx\nkey.prefix=\\u202ea\n";
    for more in [&[][..], &["--json"]] {
        let found = check(lines, more);
        assert_eq!(found.code, Some(3), "{}", found.out);
        let is_shown = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(found.out.chars().all(is_shown) && found.out.contains("\\u001b[2J\\u009b\\nx"), "{}", found.out);
    }
}

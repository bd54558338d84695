//! A server in this process that answers as a test says, for stores that lie, or aren't stores.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::DriverStore;
use super::suite::open;

/// An answer as it goes over the wire; its length is added.
pub(in super::super) struct Answer {
    pub(in super::super) status: u16,
    pub(in super::super) headers: &'static [(&'static str, &'static str)],
    pub(in super::super) body: &'static [u8],
}

impl Answer {
    pub(in super::super) fn new(
        status: u16,
        headers: &'static [(&'static str, &'static str)],
        body: &'static str,
    ) -> Self {
        Self { status, headers, body: body.as_bytes() }
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} As It Is\r\nContent-Length: {}\r\n", self.status, self.body.len());
        for (name, value) in self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        [head.as_bytes(), if is_head { &[] } else { self.body }].concat()
    }
}

/// Answers each request by its head. The port that it listens on; the server goes with the process.
pub(in super::super) fn serve(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || answer_all(tcp, &*answer));
        }
    });
    port
}

fn answer_all(tcp: TcpStream, answer: &dyn Fn(&str) -> Answer) -> Option<()> {
    let mut stream = BufReader::new(tcp);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).ok().filter(|&read| read > 0)?;
        }
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        stream.get_mut().write_all(&answer(&head).bytes(head.starts_with("HEAD "))).ok()?;
    }
}

/// Stores of each kind at that port, with their names.
pub(in super::super) fn stores(port: u16) -> [(&'static str, DriverStore); 3] {
    let at = format!("http://127.0.0.1:{port}");
    let azure = format!("{at}/account");
    let patience = [("storage.retry.attempts.max", "1")];
    let s3 = [
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", at.as_str()),
        ("storage.s3.bucket.name", "bucket"),
        ("storage.aws.access.key.id", "id"),
        ("storage.aws.secret.access.key", "secret"),
    ];
    let gcs = [
        ("storage.backend.class", "gcs"),
        ("storage.gcs.bucket.name", "bucket"),
        ("storage.gcs.endpoint.url", at.as_str()),
        ("storage.gcs.credentials.default", "false"),
    ];
    let azure = [
        ("storage.backend.class", "azure"),
        ("storage.azure.container.name", "container"),
        ("storage.azure.account.name", "account"),
        ("storage.azure.account.key", "d3Jvbmc="),
        ("storage.azure.endpoint.url", azure.as_str()),
    ];
    [
        ("s3", open(&[&s3[..], &patience].concat())),
        ("gcs", open(&[&gcs[..], &patience].concat())),
        ("azure", open(&[&azure[..], &patience].concat())),
    ]
}

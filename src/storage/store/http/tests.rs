//! Against servers in this process that do as little as they can: what matters is who is asked, and over what.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslAcceptor, SslMethod, SslVerifyMode};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use parking_lot::Mutex;

use super::super::super::settings::{HttpSettings, ProxySettings};
use super::*;

const NAME: &str = "store.example.org";
type Seen = Arc<Mutex<Vec<String>>>;

struct Signed {
    certificate: X509,
    key: PKey<Private>,
}

impl Signed {
    fn by(issuer: Option<&Self>, name: &str) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        let mut x509 = X509::builder().unwrap();
        x509.set_version(2).unwrap();
        let serial = BigNum::from_slice(&uuid::Uuid::new_v4().into_bytes()[..8]).unwrap();
        x509.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
        x509.set_subject_name(&subject).unwrap();
        x509.set_issuer_name(issuer.map_or(&subject, |issuer| issuer.certificate.subject_name())).unwrap();
        x509.set_pubkey(&key).unwrap();
        x509.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
        x509.set_not_after(&Asn1Time::days_from_now(30).unwrap()).unwrap();
        if issuer.is_none() {
            x509.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
        }
        let names =
            SubjectAlternativeName::new().dns(name).ip("127.0.0.1").build(&x509.x509v3_context(None, None)).unwrap();
        x509.append_extension(names).unwrap();
        x509.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
        Self { certificate: x509.build(), key }
    }

    /// Where certificate and key are now.
    fn write(&self, folder: &Path, name: &str) -> (String, String) {
        let at = |end: &str| folder.join(format!("{name}.{end}")).to_str().unwrap().to_owned();
        std::fs::write(at("crt"), self.certificate.to_pem().unwrap()).unwrap();
        std::fs::write(at("key"), self.key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        (at("crt"), at("key"))
    }
}

/// A store that answers each request with the body that it came with; `Seen` are the heads.
fn store(tls: Option<SslAcceptor>) -> (u16, Seen) {
    let seen = Seen::default();
    let heads = Arc::clone(&seen);
    let port = listen(move |tcp| match &tls {
        Some(tls) => tls.accept(tcp).map_or((), |stream| echo(stream, &heads)),
        None => echo(tcp, &heads),
    });
    (port, seen)
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(tcp));
        }
    });
    port
}

fn echo(stream: impl Read + Write, seen: &Seen) {
    let mut stream = BufReader::new(stream);
    while let Some(head) = head(&mut stream) {
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        seen.lock().push(head);
        let answer = format!("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: {}\r\n\r\n", body.len());
        let stream = stream.get_mut();
        if stream.write_all(answer.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() {
            return;
        }
    }
}

fn head(stream: &mut impl std::io::BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).ok().filter(|&read| read > 0)?;
    }
    Some(head)
}

/// A proxy that leads to `store`, whatever name it is asked for, and lets in who says "me:my word".
fn proxy(store: u16, is_socks: bool) -> (u16, Seen) {
    let seen = Seen::default();
    let asked = Arc::clone(&seen);
    let port = listen(move |tcp| {
        let _ = if is_socks { socks(tcp, store, &asked) } else { tunnel(tcp, store, &asked) };
    });
    (port, seen)
}

fn tunnel(mut tcp: TcpStream, store: u16, seen: &Seen) -> std::io::Result<()> {
    let Some(head) = head(&mut BufReader::with_capacity(1, &tcp)) else { return Ok(()) };
    let login = format!("Basic {}", openssl::base64::encode_block(b"me:my word"));
    let is_let_in = head.lines().any(|line| {
        line.split_once(": ")
            .is_some_and(|(name, value)| name.eq_ignore_ascii_case("proxy-authorization") && value == login)
    });
    seen.lock().push(head.clone());
    if !is_let_in {
        return tcp.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    }
    if head.starts_with("CONNECT ") {
        tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        return relay(tcp, store, &[]);
    }
    relay(tcp, store, head.as_bytes())
}

fn socks(mut tcp: TcpStream, store: u16, seen: &Seen) -> std::io::Result<()> {
    let take = |tcp: &mut TcpStream, count: usize| {
        let mut bytes = vec![0; count];
        tcp.read_exact(&mut bytes).map(|()| bytes)
    };
    let methods = take(&mut tcp, 2)?[1];
    take(&mut tcp, usize::from(methods))?;
    tcp.write_all(&[5, 2])?;
    let user = take(&mut tcp, 2)?[1];
    let user = take(&mut tcp, usize::from(user))?;
    let password = take(&mut tcp, 1)?[0];
    let password = take(&mut tcp, usize::from(password))?;
    let is_let_in = (&user[..], &password[..]) == (b"me", b"my word");
    tcp.write_all(&[1, u8::from(!is_let_in)])?;
    if !is_let_in {
        return Ok(());
    }
    // A name of so many letters.
    let request = take(&mut tcp, 5)?;
    assert_eq!(request[..4], [5, 1, 0, 3], "the proxy resolves the name");
    let name = take(&mut tcp, usize::from(request[4]))?;
    take(&mut tcp, 2)?;
    seen.lock().push(String::from_utf8_lossy(&name).into_owned());
    tcp.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    relay(tcp, store, &[])
}

fn relay(mut tcp: TcpStream, store: u16, first: &[u8]) -> std::io::Result<()> {
    let mut to = TcpStream::connect(("127.0.0.1", store))?;
    to.write_all(first)?;
    let (mut up, mut down) = (tcp.try_clone()?, to.try_clone()?);
    let back = std::thread::spawn(move || std::io::copy(&mut down, &mut up).map(|_| up.shutdown(Shutdown::Both)));
    std::io::copy(&mut tcp, &mut to)?;
    to.shutdown(Shutdown::Write)?;
    let _ = back.join();
    Ok(())
}

fn settings() -> HttpSettings {
    HttpSettings {
        connect_timeout: Duration::from_secs(10),
        idle_connections: 4,
        connections_max: None,
        is_certificate_checked: true,
        ca_file: None,
        client_files: None,
        proxy: None,
        user_agent: Some("a test".to_owned()),
    }
}

/// What comes back for a body, or what went wrong, from the bottom.
async fn sent(settings: &HttpSettings, url: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let client = client(tokio::runtime::Handle::current().id(), settings).map_err(|error| error.to_string())?;
    let transport = BoundedTransport::new(client, Duration::from_secs(20), None);
    let request = Request::put(url).header("content-length", body.len()).body(Buffer::from(body)).unwrap();
    let answer = async { transport.fetch(request).await?.into_body().to_buffer().await };
    answer.await.map(|bytes| bytes.to_vec()).map_err(|error| {
        assert!(error.is_temporary(), "{error}");
        let mut words = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            words = inner.to_string();
            cause = inner.source();
        }
        words
    })
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

fn acceptor(of: &Signed, client_ca: Option<&Signed>) -> SslAcceptor {
    let mut tls = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    tls.set_certificate(&of.certificate).unwrap();
    tls.set_private_key(&of.key).unwrap();
    if let Some(ca) = client_ca {
        tls.cert_store_mut().add_cert(ca.certificate.clone()).unwrap();
        tls.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    tls.build()
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_any_length_pass_both_ways_plain_and_under_tls_over_few_connections() {
    let (folder, ca) = (tempfile::tempdir().unwrap(), Signed::by(None, "ca"));
    let trusting = HttpSettings { ca_file: Some(ca.write(folder.path(), "ca").0), ..settings() };
    for (scheme, tls) in [("http", None), ("https", Some(acceptor(&Signed::by(Some(&ca), NAME), None)))] {
        let (port, seen) = store(tls);
        for length in [0, 1, 16 << 10, (64 << 10) + 1, 5 << 20] {
            let url = format!("{scheme}://127.0.0.1:{port}/a%20b?c=%2F");
            assert_eq!(sent(&trusting, &url, body(length)).await.unwrap(), body(length), "{scheme}, {length} bytes");
        }
        let heads = seen.lock();
        assert_eq!(heads.len(), 5);
        assert!(heads[0].starts_with("PUT /a%20b?c=%2F HTTP/1.1\r\n"), "{}", heads[0]);
        assert!(heads[0].contains("user-agent: a test\r\n"), "{}", heads[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_certificate_of_the_right_issuer_and_name_is_believed_and_only_a_known_client_is_let_in() {
    let (folder, ca) = (tempfile::tempdir().unwrap(), Signed::by(None, "ca"));
    let ca_file = Some(ca.write(folder.path(), "ca").0);
    let own = Signed::by(Some(&ca), "client");
    let (certificate, key) = own.write(folder.path(), "client");
    let (_, another_key) = Signed::by(Some(&ca), "another").write(folder.path(), "another");
    let (open, _) = store(Some(acceptor(&Signed::by(Some(&ca), NAME), None)));
    let (closed, _) = store(Some(acceptor(&Signed::by(Some(&ca), NAME), Some(&ca))));
    let trusting = HttpSettings { ca_file, ..settings() };
    let careless = HttpSettings { is_certificate_checked: false, ..settings() };
    let known = HttpSettings { client_files: Some((certificate.clone(), key)), ..trusting.clone() };
    let mixed = HttpSettings { client_files: Some((certificate, another_key)), ..trusting.clone() };
    for (settings, host, port, expected) in [
        (&trusting, "127.0.0.1", open, Ok(())),
        (&settings(), "127.0.0.1", open, Err("certificate")),
        (&trusting, "localhost", open, Err("ostname mismatch")),
        (&careless, "localhost", open, Ok(())),
        (&known, "127.0.0.1", closed, Ok(())),
        // TLS 1.3 tells it with the first read.
        (&trusting, "127.0.0.1", closed, Err("")),
        (&mixed, "127.0.0.1", closed, Err("storage.tls.client.key.file")),
    ] {
        let answer = sent(settings, &format!("https://{host}:{port}/"), body(100)).await;
        match (&answer, expected) {
            (Ok(bytes), Ok(())) => assert_eq!(*bytes, body(100)),
            (Err(why), Err(part)) => assert!(why.contains(part), "{host}: {why}"),
            _ => panic!("{host}:{port}: {answer:?}, expected {expected:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_either_kind_is_told_the_name_and_the_login_and_is_named_when_it_refuses() {
    let (folder, ca) = (tempfile::tempdir().unwrap(), Signed::by(None, "ca"));
    let ca_file = Some(ca.write(folder.path(), "ca").0);
    for scheme in ["http", "https"] {
        let tls = (scheme == "https").then(|| acceptor(&Signed::by(Some(&ca), NAME), None));
        let (target, arrived) = store(tls);
        for kind in ["http", "socks5h"] {
            let (port, asked) = proxy(target, kind == "socks5h");
            let over = |password: &str| HttpSettings {
                ca_file: ca_file.clone(),
                proxy: Some(ProxySettings {
                    url: format!("{kind}://127.0.0.1:{port}"),
                    login: Some(("me".to_owned(), password.to_owned())),
                }),
                ..settings()
            };
            let url = format!("{scheme}://{NAME}/key");
            assert_eq!(sent(&over("my word"), &url, body(70_000)).await.unwrap(), body(70_000), "{kind} to {scheme}");
            assert!(asked.lock()[0].contains(NAME), "{kind} to {scheme}: {:?}", asked.lock());
            assert!(!arrived.lock().is_empty());
            match sent(&over("not my word"), &url, body(10)).await {
                Err(why) => assert!(why.contains(&format!("proxy 127.0.0.1:{port}")), "{kind} to {scheme}: {why}"),
                // The proxy's own answer to a plain request, which has no body.
                Ok(bytes) => assert!(kind == "http" && scheme == "http" && bytes.is_empty(), "{kind} to {scheme}"),
            }
        }
    }
}

#[test]
fn a_url_without_a_port_means_that_of_its_scheme_to_a_proxy_too() {
    for (url, expected) in [
        ("http://store.example.org/a", "http://store.example.org:80/"),
        ("https://store.example.org/a?b", "https://store.example.org:443/"),
        ("https://[fd00::1]/a", "https://[fd00::1]:443/"),
        ("http://store.example.org:9000/a", "http://store.example.org:9000/a"),
    ] {
        assert_eq!(connect::with_port(&url.parse().unwrap()).unwrap().to_string(), expected);
    }
    assert!(client::is_metadata_service("[fd00:ec2::254]") && !client::is_metadata_service("127.0.0.1"));
}

//! A connection to a store or to a proxy, plain or under TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

/// What is read from the network at once under TLS, whose records are of 16 KiB and a header.
const READ: usize = 64 << 10;

/// What TLS runs over: the network, or TLS to a proxy.
pub(super) trait Raw: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Raw for T {}

type Secured = SslStream<BufReader<Box<dyn Raw>>>;

/// A connection in the client's pool.
pub(super) struct Link {
    wire: Wire,
    /// Whole URLs are sent over it, as the proxy at its end reads them.
    is_to_proxy: bool,
    /// What ended a read that had brought something, and is told by the next one: OpenSSL tells it once.
    failed: Option<io::Error>,
}

enum Wire {
    Plain(TcpStream),
    Secure(Box<Secured>),
}

impl Link {
    pub(super) fn plain(tcp: TcpStream) -> Self {
        Self { wire: Wire::Plain(tcp), is_to_proxy: false, failed: None }
    }

    pub(super) fn secure(tls: Secured) -> Self {
        Self { wire: Wire::Secure(Box::new(tls)), is_to_proxy: false, failed: None }
    }

    pub(super) fn of_proxy(self) -> Self {
        Self { is_to_proxy: true, ..self }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_to_proxy)
    }
}

/// Under a TLS that reads more at once than a record's header.
pub(super) fn buffered(raw: impl Raw + 'static) -> BufReader<Box<dyn Raw>> {
    BufReader::with_capacity(READ, Box::new(raw))
}

impl AsyncRead for Link {
    /// Under TLS fills `out` with all records that are there: each piece is a step of its own for all that stand behind.
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let link = self.get_mut();
        if let Some(error) = link.failed.take() {
            return Poll::Ready(Err(error));
        }
        match &mut link.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_read(context, out),
            Wire::Secure(tls) => {
                let before = out.filled().len();
                loop {
                    let filled = out.filled().len();
                    let read = Pin::new(&mut **tls).poll_read(context, out);
                    let has_more = matches!(read, Poll::Ready(Ok(()))) && out.filled().len() > filled;
                    if has_more && out.remaining() > 0 {
                        continue;
                    }
                    if out.filled().len() == before {
                        return read;
                    }
                    // An end shows again in the next read.
                    if let Poll::Ready(Err(error)) = read {
                        link.failed = Some(error);
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write(context, bytes),
            Wire::Secure(tls) => Pin::new(&mut **tls).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write_vectored(context, slices),
            Wire::Secure(tls) => {
                let first = slices.iter().find(|slice| !slice.is_empty());
                Pin::new(&mut **tls).poll_write(context, first.map_or(&[], |slice| slice))
            }
        }
    }

    /// So that a body is written from where it is, and not copied first. TLS takes one slice after the other.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_flush(context),
            Wire::Secure(tls) => Pin::new(&mut **tls).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_shutdown(context),
            Wire::Secure(tls) => Pin::new(&mut **tls).poll_shutdown(context),
        }
    }
}

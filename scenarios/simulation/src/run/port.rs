//! A port of this machine that is kept for one cell: only processes of the cell may listen there.
//! It never listens itself, so a connection is refused until a process of the cell listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// The port, kept until this is dropped.
///
/// Linux lets another socket bind and listen where one is bound that does not listen, when both reuse addresses, which
/// every listener of tokio and of the standard library does. It does not give such a port to a process that asks for any
/// port. Elsewhere a bound socket is in its own way, so there the port is only one that was free.
#[derive(Debug)]
pub(super) struct KeptPort {
    port: u16,
    _kept: Option<TcpSocket>,
}

impl KeptPort {
    /// Takes a free port of loopback.
    pub(super) fn take() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let port = socket.local_addr()?.port();
        Ok(Self { port, _kept: cfg!(target_os = "linux").then_some(socket) })
    }

    /// Its number.
    pub(super) fn number(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn it_refuses_until_a_process_of_the_cell_listens() {
        let port = KeptPort::take().unwrap();
        let address = ("127.0.0.1", port.number());
        for _ in 0..2 {
            let refused = TcpStream::connect(address).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            let listener = TcpListener::bind(address).await.unwrap();
            let (came, went) = tokio::join!(listener.accept(), TcpStream::connect(address));
            drop((came.unwrap(), went.unwrap()));
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_listener_on_any_free_port_does_not_get_it() {
        let kept: Vec<_> = (0..500).map(|_| KeptPort::take().unwrap()).collect();
        let mut numbers: Vec<_> = kept.iter().map(KeptPort::number).collect();
        for _ in 0..500 {
            let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
            assert!(!numbers.contains(&other.local_addr().unwrap().port()));
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), kept.len());
    }
}

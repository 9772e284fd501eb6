//! Tests the production endpoint on real sockets: the requests it takes, and slow or greedy clients.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::bot::{BOT_BODY_BYTES_MAX, BotReply, BotRequest, Endpoint, HttpEndpoint, Reception};

#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Vec<BotRequest>>>);

impl Reception for Notes {
    fn listening(&self) {}

    fn receive(&self, request: BotRequest) -> LocalBoxFuture<'_, BotReply> {
        let status = if request.oversized { 413 } else { 200 };
        self.0.borrow_mut().push(request);
        Box::pin(std::future::ready(BotReply { status, header: Some(("allow", "POST")) }))
    }
}

/// An address where the endpoint may listen. No other process gets it while the socket, which never listens,
/// is open.
fn kept() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(cfg!(target_os = "linux")).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

async fn connect(address: SocketAddr) -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect(address).await {
            return stream;
        }
        tokio::task::yield_now().await;
    }
}

async fn ask(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address).await;
    // A client that is refused early may find the connection closed while it still writes.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn with_endpoint(work: impl AsyncFnOnce(SocketAddr)) -> Vec<BotRequest> {
    let ((address, socket), notes) = (kept(), Notes::default());
    // On other systems, even a socket that does not listen prevents listening.
    let _socket = cfg!(target_os = "linux").then_some(socket);
    tokio::select! {
        biased;
        error = HttpEndpoint.serve(address, &notes) => panic!("{error}"),
        () = work(address) => {}
    }
    notes.0.take()
}

#[tokio::test]
async fn a_request_arrives_whole_and_is_answered() {
    let requests = with_endpoint(async |address| {
        let answer = ask(
            address,
            b"POST /api/messages?x=y HTTP/1.1\r\nHost: a\r\nX-Up: b\r\nContent-Length: 2\r\n\r\n{}",
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("allow: POST"), "{answer}");
    });
    let requests = requests.await;
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/api/messages"));
    assert_eq!((request.header("x-up"), request.body.as_slice()), (Some("b"), b"{}".as_slice()));
}

#[rstest]
#[case(b"garbage\r\n\r\n".to_vec(), "400")]
#[case([b"GET / HTTP/1.1\r\nHost: a\r\nX: ".to_vec(), vec![b'a'; 64 * 1024], b"\r\n\r\n".to_vec()].concat(), "431")]
#[case([b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec(), b"X: a\r\n".repeat(100), b"\r\n".to_vec()].concat(), "431")]
#[case([format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", BOT_BODY_BYTES_MAX + 1).into_bytes(),
    vec![b'a'; BOT_BODY_BYTES_MAX + 1]].concat(), "413")]
#[tokio::test]
async fn what_is_too_much_is_refused(#[case] bytes: Vec<u8>, #[case] status: &str) {
    let requests = with_endpoint(async |address| {
        let answer = ask(address, &bytes).await;
        // A refusal that comes before the whole request is read may be lost with the connection.
        assert!(answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    });
    assert!(requests.await.iter().all(|request| request.body.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_is_cut_off() {
    let requests = with_endpoint(async |address| {
        for begun in [
            "",
            "POST /api/messages HTTP/1.1\r\nHost: a\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
        ] {
            let started = tokio::time::Instant::now();
            ask(address, begun.as_bytes()).await;
            assert!(started.elapsed() <= Duration::from_secs(21), "{begun:?}");
        }
    });
    assert!(requests.await.is_empty());
}

#[tokio::test]
async fn silent_clients_do_not_keep_others_out_for_long() {
    with_endpoint(async |address| {
        let mut silent = Vec::new();
        // As many as are served at once. The oldest would leave by itself after five seconds.
        for _ in 0..64 {
            silent.push(connect(address).await);
        }
        let asking = ask(address, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        let answer = tokio::time::timeout(Duration::from_secs(4), asking).await.expect("room for one more");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn it_never_listens_where_others_could_reach_it() {
    let error = HttpEndpoint.serve("0.0.0.0:0".parse().unwrap(), &Notes::default()).await;
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = HttpEndpoint.serve(taken.local_addr().unwrap(), &Notes::default()).await;
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

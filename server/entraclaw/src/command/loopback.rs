//! The address to which the browser returns: an HTTP listener on 127.0.0.1 for the length of one sign-in.
//! It must never listen on another address, answer anything but one page, or believe a request for another host.

use std::io;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use entraclaw_microsoft::entra::{AuthError, AuthFailure, Judge, Redirects};
use entraclaw_seams::secret::Secret;

/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long a connection may take to send its request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// Most unrelated requests before the sign-in is given up.
const FOREIGN_MAX: u32 = 200;

/// A listener for one sign-in.
pub(super) struct Loopback {
    listener: TcpListener,
    port: u16,
}

impl Loopback {
    /// Listens on a free port.
    pub(super) async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Reads one request and answers it.
    async fn serve(&self, mut stream: TcpStream, judge: Judge<'_>) -> Option<Result<Secret, AuthError>> {
        let head = tokio::time::timeout(HEAD_TIME_MAX, read_head(&mut stream)).await;
        let query = head.ok().flatten().and_then(|head| query_of(&head, self.port));
        let judged = query.and_then(|query| judge(&query));
        let (status, text) = match &judged {
            Some(Ok(_)) => ("200 OK", "Signed in. You can close this window and go back to the terminal."),
            Some(Err(_)) => ("200 OK", "The sign-in did not work. The terminal says why."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let page = format!("<!doctype html><meta charset=\"utf-8\"><title>Entraclaw</title><p>{text}</p>\n");
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
            page.len()
        );
        // The code has arrived even if the browser is gone.
        let _ = tokio::time::timeout(HEAD_TIME_MAX, async {
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await
        })
        .await;
        judged
    }
}

impl Redirects for Loopback {
    fn uri(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    fn wait<'a>(&'a mut self, judge: Judge<'a>) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async move {
            for _ in 0..FOREIGN_MAX {
                let Ok((stream, _)) = self.listener.accept().await else { continue };
                if let Some(outcome) = self.serve(stream, judge).await {
                    return outcome;
                }
            }
            let problem =
                format!("{FOREIGN_MAX} requests that are not this sign-in's came to {}", self.uri());
            let fix = "see what else runs on this machine, and run `entraclaw login` again";
            Err(AuthError::new(AuthFailure::Malformed, problem, fix))
        })
    }
}

/// The head of a request, up to the empty line.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 2_048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(piece.get(..read)?);
        if head.len() > HEAD_BYTES_MAX {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// The query of a `GET /?…` for this address.
fn query_of(head: &str, port: u16) -> Option<String> {
    let mut lines = head.split("\r\n");
    let target = lines.next()?.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let hosts = [format!("localhost:{port}"), format!("127.0.0.1:{port}")];
    // A request for another host name that resolves to this machine belongs to another site.
    let ours = lines.take_while(|line| !line.is_empty()).any(|line| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("host") && hosts.iter().any(|host| value.trim() == host)
        })
    });
    let query = target.strip_prefix("/?")?;
    ours.then(|| query.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GET /?code=1&state=2 HTTP/1.1\r\nHost: localhost:9\r\n\r\n", Some("code=1&state=2"))]
    #[case("GET /? HTTP/1.1\r\nhost:127.0.0.1:9\r\n\r\n", Some(""))]
    #[case("GET /?code=1 HTTP/1.1\r\nHost: contoso.com:9\r\n\r\n", None)]
    #[case("GET /?code=1 HTTP/1.1\r\nHost: localhost:8\r\n\r\n", None)]
    #[case("GET /?code=1 HTTP/1.1\r\n\r\nHost: localhost:9\r\n", None)]
    #[case("POST /?code=1 HTTP/1.1\r\nHost: localhost:9\r\n\r\n", None)]
    #[case("GET /favicon.ico HTTP/1.1\r\nHost: localhost:9\r\n\r\n", None)]
    #[case("\r\n\r\n", None)]
    fn only_requests_for_this_address_are_read(#[case] head: &str, #[case] query: Option<&str>) {
        assert_eq!(query_of(head, 9).as_deref(), query);
    }

    #[tokio::test]
    async fn the_listener_waits_for_its_own_answer() {
        let mut loopback = Loopback::open().await.unwrap();
        let (uri, port) = (loopback.uri(), loopback.port);
        assert_eq!(uri, format!("http://localhost:{port}"));
        let browser = async {
            let mut answers = Vec::new();
            for head in [
                format!("GET /favicon.ico HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
                "\u{0}\r\n\r\n".to_owned(),
                format!("GET /?guess HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
                format!("GET /?right HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
            ] {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                answers.push(answer.split(' ').nth(1).unwrap_or_default().to_owned());
            }
            answers
        };
        let judge = |query: &str| match query {
            "right" => Some(Ok(Secret::new("code"))),
            _ => None,
        };
        let (code, answers) = tokio::join!(loopback.wait(&judge), browser);
        assert_eq!(code.unwrap().expose(), "code");
        assert_eq!(answers, ["404", "404", "404", "200"]);
    }
}

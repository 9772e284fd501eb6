//! Bytes as they arrive through pipes: in pieces, joined, and malformed. After each of them the server has to
//! answer the next request; its answer to the bytes themselves is its own choice.

use std::time::Duration;

use serde_json::{Value, json};

use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{ANSWER_WITHIN, Reply, Session};

/// Requests that are written at once.
const JOINED: usize = 50;
/// Bytes of the longest line.
const LONG_BYTES: usize = 20 * 1024 * 1024;
/// Time limit for reading that line.
const LONG_WITHIN: Duration = Duration::from_secs(60);
/// Nested brackets.
const NESTED: usize = 20_000;
/// Time between two pieces of a line.
const PIECE_EVERY: Duration = Duration::from_millis(5);

probes! {
    "input: in pieces" ["input.split", "input.joined"] Both Pipes Rough |lab| pieces(lab);
    "input: white space" ["input.crlf", "input.blank-lines"] Both Pipes Rough |lab| white_space(lab);
    "input: a byte order mark" ["input.byte-order-mark"]
        Both Pipes Rough |lab| survives(lab, "input.byte-order-mark", byte_order_mark, "a byte order mark");
    "input: no UTF-8" ["input.not-utf8"]
        Both Pipes Rough |lab| survives(lab, "input.not-utf8", not_utf8, "bytes that are no UTF-8");
    "input: no JSON" ["input.not-json"] Both Pipes Rough |lab| not_json(lab);
    "input: deep nesting" ["input.nested"]
        Both Pipes Rough Rare |lab| survives(lab, "input.nested", nested, "20,000 brackets inside each other");
    "input: a line of 20 MB" ["input.long-line"] Both Pipes Rough Rare |lab| long_line(lab);
}

/// A sign of life that is asked for: what a server does with notifications, or with what it does not know, is another question.
fn byte_order_mark(session: &mut Session) -> Vec<u8> {
    let (_, line) = line(session);
    [b"\xef\xbb\xbf", line.as_slice(), b"\n"].concat()
}

fn not_utf8(session: &mut Session) -> Vec<u8> {
    let id = session.new_id();
    let text = json!({"_meta": {"com.contoso/text": MARK}});
    let line = session.request(&id, session.sign_of_life(), text).to_string();
    let (before, after) = line.split_once(MARK).unwrap_or_default();
    [before.as_bytes(), b"\xff\xfe", after.as_bytes(), b"\n"].concat()
}

/// Stands in a request where bytes are put.
const MARK: &str = "bytes that are no text";

fn nested(_: &mut Session) -> Vec<u8> {
    let mut line = vec![b'['; NESTED];
    line.extend(std::iter::repeat_n(b']', NESTED));
    line.push(b'\n');
    line
}

/// A ping, or the newer era's equivalent, as a line without its newline, and its id.
fn line(session: &mut Session) -> (Value, Vec<u8>) {
    let id = session.new_id();
    let request = session.request(&id, session.sign_of_life(), json!({}));
    (id, request.to_string().into_bytes())
}

async fn pieces(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let (id, mut bytes) = line(&mut session);
    bytes.push(b'\n');
    let from = session.wire.received.len();
    for piece in bytes.chunks(bytes.len().div_ceil(7).max(1)) {
        session.wire.send_bytes(piece);
        session.wire.run_until(ANSWER_WITHIN, super::super::wire::Wire::is_written).await;
        session.wire.run_for(PIECE_EVERY).await;
    }
    let reply = session.answer_to(&id, from, ANSWER_WITHIN).await;
    let message = "a request that arrives in pieces is not answered";
    lab.expect("input.split", reply.is_answer(), message, "an answer", &reply.say());
    let from = session.wire.received.len();
    let mut joined = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..JOINED {
        let (id, bytes) = line(&mut session);
        joined.extend(bytes);
        joined.push(b'\n');
        ids.push(id);
    }
    session.wire.send_bytes(&joined);
    let mut missing = Vec::new();
    for id in ids {
        if !session.answer_to(&id, from, ANSWER_WITHIN).await.is_answer() {
            missing.push(id.to_string());
            break;
        }
    }
    let message = format!("of {JOINED} requests written at once not all are answered");
    let said = format!("none to {}", missing.join(", "));
    lab.expect("input.joined", missing.is_empty(), &message, "an answer to each", &said);
    Ok(())
}

async fn white_space(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let (id, mut bytes) = line(&mut session);
    bytes.extend(b"\r\n");
    let from = session.wire.received.len();
    session.wire.send_bytes(&bytes);
    let reply = session.answer_to(&id, from, ANSWER_WITHIN).await;
    let message = "a line that ends in CR LF is not answered";
    lab.expect("input.crlf", reply.is_answer(), message, "an answer", &reply.say());
    let reply = spaced(&mut session, b"\n\n \t", b"  ").await;
    if reply.is_answer() {
        lab.pass("input.blank-lines");
        return Ok(());
    }
    let mut causes = Vec::new();
    for (before, after, what) in SPACES {
        let mut session = lab.open_rough().await?;
        if !spaced(&mut session, before, after).await.is_answer() {
            causes.push(what);
        }
    }
    let what = if causes.is_empty() { "only all of them together".to_owned() } else { causes.join(" and ") };
    let message = format!(
        "a request after blank lines, with white space around it, is not answered: what it can't read is {what}"
    );
    lab.fail("input.blank-lines", message, "an answer", &reply.say());
    Ok(())
}

/// Each kind of white space alone: what stands before the request, what behind it, and its name.
const SPACES: [(&[u8], &[u8], &str); 3] = [
    (b"\n\n", b"", "blank lines"),
    (b" \t", b"", "white space before a request"),
    (b"", b"  ", "white space behind a request"),
];

/// The answer to a request with bytes around it.
async fn spaced(session: &mut Session, before: &[u8], after: &[u8]) -> Reply {
    let (id, bytes) = line(session);
    let from = session.wire.received.len();
    session.wire.send_bytes(&[before, &bytes, after, b"\n"].concat());
    session.answer_to(&id, from, ANSWER_WITHIN).await
}

/// Half a JSON text alone would let a server that reads over line ends wait for the rest.
async fn not_json(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let half: &[u8] = b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \n";
    for (bytes, what) in [(b"no JSON\n".as_slice(), "plain words"), (half, "half a JSON text")] {
        session.wire.send_bytes(bytes);
        let method = session.sign_of_life();
        let reply = session.ask(method, json!({})).await;
        let message = format!("after a line with {what} the next request is not answered");
        let expected = "an answer to the next request";
        lab.expect("input.not-json", reply.is_answer(), &message, expected, &reply.say());
        if !reply.is_answer() {
            break;
        }
    }
    Ok(())
}

async fn survives(
    lab: &mut Lab,
    check: &'static str,
    bytes: fn(&mut Session) -> Vec<u8>,
    what: &str,
) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let bytes = bytes(&mut session);
    session.wire.send_bytes(&bytes);
    let method = session.sign_of_life();
    let reply = session.ask(method, json!({})).await;
    let message = format!("after {what} the next request is not answered");
    lab.expect(check, reply.is_answer(), &message, "an answer to the next request", &session.say(&reply));
    Ok(())
}

async fn long_line(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let id = session.new_id();
    let padding = "x".repeat(LONG_BYTES);
    let request =
        session.request(&id, session.sign_of_life(), json!({"_meta": {"com.contoso/padding": padding}}));
    session.wire.send(&request);
    session.wire.run_until(LONG_WITHIN, super::super::wire::Wire::is_written).await;
    let method = session.sign_of_life();
    let reply = session.ask_within(method, json!({}), LONG_WITHIN).await;
    let message = "after a line of 20 MB the next request is not answered";
    lab.expect("input.long-line", reply.is_answer(), message, "an answer to the next request", &reply.say());
    Ok(())
}

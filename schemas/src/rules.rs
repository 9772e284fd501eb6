//! The rules that a JSON Schema can't express, each with its meaning and its source. Every finding names a
//! rule of this list, or `schema`.

use serde::Serialize;

/// The history that a rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One message.
    Message,
    /// The connection so far.
    Session,
}

/// A hand-written rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Its name in verdicts and reports.
    pub id: &'static str,
    /// The history that it needs.
    pub scope: Scope,
    /// The rule, in one sentence.
    pub meaning: &'static str,
    /// Its section in the specification: `version path, heading`.
    pub source: &'static str,
}

macro_rules! table {
    ($($name:ident $id:literal $scope:ident $meaning:literal $source:literal;)*) => {
        $(pub(crate) static $name: Rule =
            Rule { id: $id, scope: Scope::$scope, meaning: $meaning, source: $source };)*
        static TABLE: &[&Rule] = &[$(&$name),*];
    };
}

table! {
    NOT_UTF8 "not-utf8" Message
        "A line is UTF-8."
        "2025-11-25 basic/transports";
    BYTE_ORDER_MARK "byte-order-mark" Message
        "A line starts with its message, not with a byte order mark."
        "RFC 8259 §8.1";
    ONE_LINE "one-line" Message
        "A message has no newline inside."
        "2025-11-25 basic/transports, stdio";
    NOT_JSON "not-json" Message
        "A line is one JSON text and nothing else."
        "2025-11-25 basic/transports, stdio";
    REPEATED_NAME "repeated-name" Message
        "An object names each of its members once."
        "RFC 8259 §4";
    NOT_A_MESSAGE "not-a-message" Message
        "A message has a method, a result or an error."
        "2025-11-25 basic, Messages";
    MIXED_ENVELOPE "mixed-envelope" Message
        "A message is a request, a notification, a result or an error, and never two of them."
        "2025-03-26 basic, Responses";
    NOTIFICATION_WITH_ID "notification-with-id" Message
        "A notification has no id."
        "2025-11-25 basic, Notifications";
    WRONG_SIDE "wrong-side" Message
        "A method is sent by the side that the specification gives it to."
        "schema.ts, ClientRequest, ServerRequest, ClientNotification, ServerNotification";
    BATCH "batch" Message
        "An array of messages is legal in 2025-03-26 only."
        "2025-06-18 changelog";
    EMPTY_BATCH "empty-batch" Message
        "A batch has at least one message, and only answers or none."
        "JSON-RPC 2.0 §6; schema.ts 2025-03-26, JSONRPCBatchRequest";
    INITIALIZE_IN_BATCH "initialize-in-batch" Message
        "`initialize` is never part of a batch."
        "2025-03-26 basic/lifecycle, Initialization";
    RESULT_TYPE "result-type" Message
        "`resultType` is `complete`, `input_required`, or the word of a declared extension."
        "2026-07-28 basic, ResultType";
    INPUT_REQUIRED_EMPTY "input-required-empty" Message
        "A result that asks back carries `inputRequests` or `requestState`."
        "2026-07-28 basic/patterns/mrtr, Server requirements";
    META_KEY "meta-key" Message
        "A key of `_meta` is a name, with or without a prefix of labels and a slash."
        "2025-06-18 basic, General fields";
    CHANNEL "channel" Message
        "A channel push has a text, and beside it texts only."
        "Claude Code 2.1.330, the parameters that it takes";
    PUSH "push" Message
        "A channel push of the server of this project has the shape of our own schema, where that is embedded."
        "own/push.schema.json";
    EVENTS "events" Message
        "What belongs to the draft of MCP Events has the shape of our own schema, where that is embedded."
        "own/mcp-events.schema.json";
    RESERVED_ERROR_CODE "reserved-error-code" Message
        "Codes from -32099 to -32020 are used only as the specification defines them, and retired codes not at all."
        "2026-07-28 basic, Error Codes";

    ID_IN_USE "id-in-use" Session
        "An id is not used again while its request is open, and within a session with a handshake not at all."
        "2026-07-28 and 2025-11-25 basic, Requests";
    TOKEN_IN_USE "token-in-use" Session
        "A progress token is unique among the open requests of its side."
        "2025-11-25 basic/utilities/progress";
    NO_SUCH_REQUEST "no-such-request" Session
        "A response answers a request of the other side, never a notification."
        "2025-11-25 basic, Responses and Notifications";
    SECOND_RESPONSE "second-response" Session
        "A request is answered once."
        "2025-11-25 basic, Responses";
    UNKNOWN_METHOD "unknown-method" Session
        "A method is one of the version in force, or belongs to a declared experimental or extension capability."
        "2025-11-25 basic/lifecycle, Operation; 2026-07-28 basic/versioning, Extensions";
    UNDECLARED_CAPABILITY "undeclared-capability" Session
        "A capability is declared before it is used: by who sends its notifications, or by who gets its requests."
        "2025-11-25 basic/lifecycle, Operation";

    INITIALIZE_FIRST "initialize-first" Session
        "A session opens with `initialize`; until it is answered the host sends nothing else but pings and cancellations."
        "2025-11-25 basic/lifecycle, Initialization";
    INITIALIZE_ONCE "initialize-once" Session
        "A session is opened once."
        "2025-11-25 basic/lifecycle, Initialization";
    INITIALIZE_CANCELLED "initialize-cancelled" Session
        "`initialize` is never cancelled."
        "2025-11-25 basic/utilities/cancellation, Behavior Requirements";
    NEGOTIATED_VERSION "negotiated-version" Session
        "The answer to `initialize` names a version that has a handshake."
        "2026-07-28 basic/versioning, Backward Compatibility";
    INITIALIZED_AFTER_REPLY "initialized-after-reply" Session
        "`notifications/initialized` follows the answer to `initialize`, once."
        "2025-11-25 basic/lifecycle, Initialization";
    SERVER_TOO_EARLY "server-too-early" Session
        "Before `notifications/initialized` the server sends nothing but answers, pings and log messages."
        "2025-11-25 basic/lifecycle, Initialization";
    NOT_SUBSCRIBED "not-subscribed" Session
        "`notifications/resources/updated` names a resource that the host has subscribed to, or a part of one."
        "2025-11-25 server/resources, Subscriptions";

    CANCEL_UNKNOWN "cancel-unknown" Session
        "A cancellation names a request of the same side."
        "2025-11-25 basic/utilities/cancellation, Behavior Requirements";
    CANCEL_BY_SERVER "cancel-by-server" Session
        "Without a session the server cancels nothing but a listen stream."
        "2026-07-28 basic/patterns/cancellation";
    AFTER_CANCEL "after-cancel" Session
        "Without a session nothing more is sent for a request that was cancelled."
        "2026-07-28 basic/transports/stdio, Cancellation";
    PROGRESS_TOKEN "progress-token" Session
        "Progress belongs to a token of an open request."
        "2025-11-25 basic/utilities/progress, Behavior Requirements";
    PROGRESS_INCREASES "progress-increases" Session
        "`progress` grows with each notification."
        "2025-11-25 basic/utilities/progress";

    SERVER_REQUEST "server-request" Session
        "Without a session the server writes no requests."
        "2026-07-28 basic/transports/stdio, Receiving Messages";
    HOST_RESPONSE "host-response" Session
        "Without a session the host writes no responses."
        "2026-07-28 basic/transports/stdio, Sending Messages";
    UNSOLICITED "unsolicited" Session
        "Without a session every notification of the server belongs to an open request or listen stream."
        "2026-07-28 basic/transports/stdio, Receiving Messages";
    STREAM_TAG "stream-tag" Session
        "A notification of a listen stream carries the id of an open listen request."
        "2026-07-28 basic/patterns/subscriptions, Receiving Notifications";
    ACKNOWLEDGE_FIRST "acknowledge-first" Session
        "The first message of a listen stream is its acknowledgement, and there is one."
        "2026-07-28 basic/patterns/subscriptions, Acknowledgment";
    NOT_ASKED_FOR "not-asked-for" Session
        "A listen stream carries and acknowledges only what the host asked for."
        "2026-07-28 basic/patterns/subscriptions, Opening a Stream";
    LOG_NOT_ASKED_FOR "log-not-asked-for" Session
        "Without a session a log message belongs to an open request that set a log level, and to no listen stream."
        "2026-07-28 server/utilities/logging";
    EVENTS_STREAM "events-stream" Session
        "A notification of an event stream carries the id of an open `events/stream`; `active` comes first and `terminated` last."
        "experimental-ext-triggers-events design sketch, events/stream";
    INPUT_REQUIRED_PLACE "input-required-place" Session
        "Only `tools/call`, `prompts/get` and `resources/read` are answered by asking back."
        "2026-07-28 basic/patterns/mrtr, Supported requests";
}

/// Every hand-written rule, message rules first.
pub fn rules() -> &'static [&'static Rule] {
    TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_meanings_are_sentences() {
        let mut ids: Vec<_> = rules().iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules().len());
        for rule in rules() {
            assert!(rule.meaning.ends_with('.') && !rule.source.is_empty(), "{}", rule.id);
        }
    }
}

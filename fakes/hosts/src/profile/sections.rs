//! The sections of a host profile: every fact that a machine obeys.
//! Nothing here acts; a fact that no machine reads must not be declared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fact::{Evidence, Fact, PerMode, facts};
use super::kinds::{
    Fate, GiveUp, IdRule, ListChanged, ListKind, OnAsk, OnProbeExit, OnRoots, OnSilence, OnStdoutClosed,
    Overlong, Parallel, ProgressTokens, Refusal, Restart, SizeUnit, StartClock, StopStep, Structured,
    ToolsShown, UnknownMessage,
};

facts! {
    /// Who the host says it is.
    Identity, IdentityPatch {
        /// `clientInfo`, members in wire order; `{server}` is the server's name in the configuration.
        client_info: Value,
        /// `capabilities` of `initialize`, members in wire order.
        capabilities: PerMode<Value>,
        /// The same while the experimental setting is on; nothing when the setting changes none.
        experimental_capabilities: PerMode<Option<Value>>,
        /// `clientCapabilities` of the probe and of modern requests, members in wire order.
        modern_capabilities: PerMode<Value>,
        /// `protocolVersion` of `initialize`.
        protocol_version: String,
        /// Versions accepted in the answer to `initialize`; `*` accepts all.
        accepted_versions: Vec<String>,
    }
}

facts! {
    /// The order of members and the ids on the wire.
    Wire, WirePatch {
        /// Of a request that has params of its own.
        request_order: Vec<String>,
        /// Of a request whose params were only added for `_meta`, or that has none.
        bare_request_order: Vec<String>,
        /// Of the probe and of `subscriptions/listen`.
        opening_order: Vec<String>,
        /// Of a notification without params.
        bare_notification_order: Vec<String>,
        /// Of a notification with params.
        notification_order: Vec<String>,
        /// Of an answer with a result.
        result_order: Vec<String>,
        /// Of an answer with an error.
        error_order: Vec<String>,
        /// Of `tools/call` params.
        call_params_order: Vec<String>,
        /// Of the params of any other request.
        params_order: Vec<String>,
        /// Id of the probe.
        probe_id: IdRule,
        /// Ids of `subscriptions/listen`.
        listen_id: IdRule,
        /// Which requests carry a `progressToken`.
        progress_tokens: ProgressTokens,
        /// Member of a call's `_meta` that holds the id the model gave the call.
        tool_use_id_key: Option<String>,
        /// Further members of a call's `_meta`, before the progress token. `{thread}`, `{turn}`, `{call}` and `{place}`
        /// are filled in; `{turn_started_ms}` becomes a number.
        call_meta: PerMode<Value>,
        /// Whether a request without params has empty ones.
        empty_params: bool,
    }
}

facts! {
    /// From the start of the process to the first list.
    Opening, OpeningPatch {
        /// Whether `server/discover` is asked first.
        probe: bool,
        /// Whether a setting makes a host ask it that does not by itself.
        probe_configurable: bool,
        /// The protocol version that the probe and every modern request name.
        modern_version: String,
        /// Longest wait for the probe's answer, in milliseconds.
        probe_timeout_ms: u64,
        /// The probe gets at most the start limit divided by this; 0 means no such rule.
        probe_share: u64,
        /// Taken off that wait, in milliseconds.
        probe_margin_ms: u64,
        /// After that wait.
        probe_silence: OnSilence,
        /// When the server exits on the probe.
        probe_exit: OnProbeExit,
        /// Time limit of the handshake, in milliseconds.
        start_timeout_ms: u64,
        /// From when that limit counts.
        start_clock: StartClock,
        /// Whether a setting changes that limit.
        start_timeout_configurable: bool,
        /// How the server is let go when the limit is over.
        on_start_timeout: GiveUp,
        /// How the server is let go when its version is not accepted.
        on_refused_version: GiveUp,
        /// Whether the modern version in answer to `initialize` switches to modern requests.
        modern_by_initialize: bool,
        /// How long the first turn waits for the tools before it begins without them, in milliseconds; none means
        /// until the server is open or given up.
        turn_waits_ms: Option<u64>,
    }
}

facts! {
    /// Which lists are asked, and when.
    Lists, ListsPatch {
        /// Order after `initialized`.
        order: PerMode<Vec<ListKind>>,
        /// Whether each list waits for the answer to the one before.
        one_by_one: bool,
        /// Whether every prompt is then asked for, with placeholders as its arguments.
        fetch_prompts: PerMode<bool>,
        /// Order in the modern era.
        modern_order: Vec<ListKind>,
        /// Lists asked although the server does not declare them.
        undeclared: Vec<ListKind>,
        /// Whether `nextCursor` is followed.
        follow_cursor: bool,
        /// Time limit of a list, in milliseconds; none means the limit of a tool call.
        timeout_ms: Option<u64>,
        /// Whether the server is given up when its tools do not come in time.
        timeout_drops_server: bool,
        /// Whether a host that knows the tools from an earlier run asks once more before the first call.
        warm_cache_asks_again: bool,
    }
}

facts! {
    /// The era of 2026-07-28, after an accepted probe.
    Modern, ModernPatch {
        /// Whether `subscriptions/listen` is sent.
        listen: bool,
        /// Waits before it is asked again after a refusal, in milliseconds, in order.
        listen_retry_ms: Vec<u64>,
        /// Whether every further refusal makes the host ask all lists again.
        relist_on_refusal: bool,
        /// Whether the lists wait for the stream's answer.
        lists_wait_for_listen: bool,
        /// Longest such wait, in milliseconds.
        lists_wait_max_ms: u64,
        /// Whether a second `server/discover` follows the acknowledgement.
        discover_after_acknowledgement: bool,
        /// Whether a notification outside the filter on the stream makes the host cancel and ask again.
        strict_stream: bool,
        /// The reason it then gives.
        strict_stream_reason: String,
        /// Waits before the next try after that, in milliseconds, in order.
        strict_stream_retry_ms: Vec<u64>,
        /// Whether tools without `ttlMs` and without a stream are asked again at every model step.
        relist_when_uncached: bool,
        /// Whether the stream is cancelled at the end.
        cancel_listen_at_exit: bool,
        /// Whether a `ping` request of the server is answered.
        answers_ping: bool,
    }
}

facts! {
    /// Tool calls: limits, cancels, order.
    Calls, CallsPatch {
        /// Time limit without a setting, in milliseconds.
        timeout_ms: u64,
        /// Whether a setting changes it.
        timeout_configurable: bool,
        /// Smallest limit that a setting can give, in milliseconds.
        timeout_floor_ms: u64,
        /// Whether the setting is forgotten when the server's tools change.
        setting_lost_on_change: bool,
        /// Whether progress starts the limit anew.
        progress_extends: bool,
        /// Limit without progress, in milliseconds.
        idle_timeout_ms: Option<u64>,
        /// `reason` of the cancel after the limit.
        timeout_reason: String,
        /// `reason` of the cancel by the person; none means that nothing is sent.
        interrupt_reason: Option<String>,
        /// When a call that is over, by an answer or by its limit, is cancelled with that reason, in milliseconds.
        abort_after_ms: Option<u64>,
        /// Whether open calls are cancelled when the host ends.
        cancel_at_exit: bool,
        /// Which calls of one step run together.
        parallel: Parallel,
        /// When a call goes to the background, in milliseconds.
        background_after_ms: PerMode<Option<u64>>,
        /// Whether a setting makes calls go to the background in a mode that does not do so by itself.
        background_configurable: bool,
    }
}

facts! {
    /// What each notification of the server leads to. Anything not named here is dropped.
    Notifications, NotificationsPatch {
        /// `notifications/tools/list_changed`.
        tools_list_changed: PerMode<ListChanged>,
        /// `notifications/prompts/list_changed`.
        prompts_list_changed: PerMode<ListChanged>,
        /// `notifications/resources/list_changed`.
        resources_list_changed: PerMode<ListChanged>,
        /// Whether a `list_changed` needs the `listChanged` capability.
        needs_declaration: bool,
        /// Lists asked again for changed resources.
        resources_relist: Vec<ListKind>,
        /// Shortest time between two askings of one list, in milliseconds.
        relist_interval_ms: u64,
        /// After this time a list that came back unchanged is asked once more, in milliseconds.
        unchanged_again_ms: Option<u64>,
    }
}

facts! {
    /// The channel: a notification that becomes a prompt.
    Channel, ChannelPatch {
        /// Whether it reaches the model, once the session names the server.
        delivered: PerMode<bool>,
        /// Whether it is delivered in the modern era too.
        modern: bool,
        /// Member of `capabilities.experimental` that the server must declare.
        capability: String,
        /// The notification's method.
        method: String,
        /// The tag around the content.
        tag: String,
        /// The attribute that names the server.
        source_attribute: String,
        /// Whether `</tag>` and the reserved names in the content are neutralised.
        content_neutralised: bool,
        /// Names that are neutralised beside the tag itself.
        reserved_tags: Vec<String>,
        /// Brackets that count as `<` when looking for those names.
        look_alike_brackets: Vec<String>,
        /// Whether a permission dialog is told to the server.
        permission_relayed: PerMode<bool>,
        /// Member of `capabilities.experimental` that the server must declare for it, beside that of the channel.
        permission_capability: String,
        /// The notification that tells it.
        permission_request_method: String,
        /// The notification that answers it.
        permission_answer_method: String,
    }
}

facts! {
    /// Answers to the server's requests.
    Requests, RequestsPatch {
        /// `roots/list`.
        roots: OnRoots,
        /// `sampling/createMessage`.
        sampling: PerMode<OnAsk>,
        /// `elicitation/create`.
        elicitation: PerMode<OnAsk>,
        /// `elicitation/create` of mode `url`, where it is refused although forms are not.
        url_elicitation: Option<Refusal>,
        /// Message of the -32601 error for a method the host does not know.
        unknown_message: UnknownMessage,
    }
}

facts! {
    /// How results become text for the model. `{server}`, `{tool}`, `{name}`, `{message}`, `{code}`, `{seconds}`,
    /// `{uri}`, `{description}`, `{text}`, `{json}`, `{path}`, `{size}`, `{preview}`, `{tail}`, `{task}`, `{status}`,
    /// `{summary}` and `{result}` are filled in where they make sense.
    Texts, TextsPatch {
        /// A text block.
        text: String,
        /// Around a whole result, whatever its size.
        frame: String,
        /// Between text blocks. Where a host keeps blocks apart, a newline stands for the border.
        block_separator: String,
        /// `structuredContent`.
        structured: Structured,
        /// Between the text and the structured content.
        structured_separator: String,
        /// Before the text of an `isError` result.
        error_prefix: String,
        /// Between the text blocks of an `isError` result.
        error_separator: String,
        /// How many text blocks of an `isError` result are shown; none means all.
        error_blocks_max: Option<u64>,
        /// An `isError` result without text.
        error_empty: String,
        /// A result without content.
        empty: String,
        /// A `resource_link`.
        resource_link: String,
        /// An embedded text resource.
        embedded_text: String,
        /// An embedded blob.
        embedded_blob: String,
        /// Audio.
        audio: String,
        /// An image.
        image: String,
        /// A result that is none, or holds an unknown content type.
        invalid: String,
        /// Whether a result without `content` counts as invalid.
        content_required: bool,
        /// The unit of the two sizes below.
        size_unit: SizeUnit,
        /// Longest text that is shown whole.
        whole_max: u64,
        /// Beyond it: a text in its place.
        beyond_whole: String,
        /// Characters of `{preview}` in that text.
        preview_characters: u64,
        /// Characters of `{tail}` in that text, the end of the result.
        tail_characters: u64,
        /// Size from which another text stands in its place.
        refused_from: Option<u64>,
        /// That text.
        beyond_refused: String,
        /// Member of a tool's `_meta` that raises `whole_max`.
        size_key: Option<String>,
        /// The most it can be raised to.
        size_key_max: u64,
        /// A JSON-RPC error in answer to a call.
        rpc_error: String,
        /// A call that hit its limit.
        timed_out: String,
        /// A call that the person interrupted.
        interrupted: String,
        /// A call during which the server went away.
        closed: String,
        /// A call to a server that is gone.
        gone: String,
        /// A call of a tool that there is not.
        no_such_tool: String,
        /// A call that the person's settings refuse.
        denied: String,
        /// The result in place when a call goes to the background.
        backgrounded: String,
        /// The block that brings a background call's result.
        task: String,
        /// `{result}` of that block for an error.
        task_failed: String,
    }
}

facts! {
    /// Names and descriptions as the model sees them.
    Names, NamesPatch {
        /// The model's name of a tool.
        tool: String,
        /// Characters that stay beside ASCII letters and digits.
        kept: String,
        /// What stands for any other character.
        replacement: String,
        /// Whether names with non-ASCII characters are punycoded.
        punycode: bool,
        /// Longest name, in characters.
        max: u64,
        /// What becomes of a longer one.
        overlong: Overlong,
        /// Longest description, in characters.
        description_max: Option<u64>,
        /// What follows a cut text.
        cut_mark: String,
        /// Which tools come with their description.
        shown: ToolsShown,
        /// Member of a tool's `_meta` that makes it come whole.
        always_load_key: Option<String>,
        /// Whether the server's `instructions` reach the model without a setting.
        instructions: bool,
        /// Whether the model or the person can read resources.
        resources: bool,
        /// Whether the person can use prompts.
        prompts: bool,
    }
}

facts! {
    /// Tools and servers that a host or the interface of its model may not take, by what they declare.
    Schemas, SchemasPatch {
        /// A tool whose input schema has no `properties`.
        without_properties: Fate,
        /// A tool with `anyOf`, `oneOf` or `allOf` at the root of its input schema.
        root_union: Fate,
        /// A tool whose input schema has another root than an object.
        root_not_object: Fate,
        /// A tool with a `$ref` in its input schema.
        references: Fate,
        /// A tool with a list of types in its input schema.
        type_lists: Fate,
        /// A server whose answer to `initialize` has no name or no version in its `serverInfo`.
        server_info: Fate,
        /// What the model gets when it calls a tool that runs as a task only; none means that the tool is called as any
        /// other. `{tool}` is filled in.
        task_only: Option<String>,
    }
}

facts! {
    /// Life and end of the server process.
    Life, LifePatch {
        /// Whether a dead server is started again.
        restart: PerMode<Restart>,
        /// Whether the tools of a dead server are gone for the model.
        tools_go: PerMode<bool>,
        /// Steps of the end.
        shutdown: Vec<StopStep>,
        /// A closed stdout of a living process.
        stdout_closed: OnStdoutClosed,
    }
}

facts! {
    /// How close the fake must come to a recording, in milliseconds.
    Fidelity, FidelityPatch {
        /// Most that the fake may react sooner: the real program's own slowness.
        early_ms: u64,
        /// Most that the fake may react later.
        late_ms: u64,
        /// Most that a time limit may differ.
        limit_ms: u64,
        /// The version whose recordings the numbers were taken from; empty where there are none.
        recordings: String,
    }
}

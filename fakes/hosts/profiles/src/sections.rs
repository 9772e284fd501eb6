//! The sections of a host profile: every fact by which a machine behaves. Nothing here acts; a fact that no
//! machine reads must not be declared.

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
    /// The name and capabilities of the host.
    Identity, IdentityPatch {
        /// `clientInfo`, members in wire order; `{server}` is the server's name in the configuration.
        client_info: Value,
        /// `capabilities` of `initialize`, members in wire order.
        capabilities: PerMode<Value>,
        /// The same with the experimental setting on; nothing if the setting does not change it.
        experimental_capabilities: PerMode<Option<Value>>,
        /// `clientCapabilities` of the probe and of modern requests, members in wire order.
        modern_capabilities: PerMode<Value>,
        /// `protocolVersion` of `initialize`.
        protocol_version: String,
        /// Versions that the host accepts in the answer to `initialize`; `*` accepts all.
        accepted_versions: Vec<String>,
    }
}

facts! {
    /// The order of members, and the ids, on the wire.
    Wire, WirePatch {
        /// Order of a request with its own params.
        request_order: Vec<String>,
        /// Order of a request whose params were only added for `_meta`, or that has none.
        bare_request_order: Vec<String>,
        /// Order of the probe and of `subscriptions/listen`.
        opening_order: Vec<String>,
        /// Order of a notification without params.
        bare_notification_order: Vec<String>,
        /// Order of a notification with params.
        notification_order: Vec<String>,
        /// Order of an answer with a result.
        result_order: Vec<String>,
        /// Order of an answer with an error.
        error_order: Vec<String>,
        /// Order of the params of `tools/call`.
        call_params_order: Vec<String>,
        /// Order of the params of any other request.
        params_order: Vec<String>,
        /// Id of the probe.
        probe_id: IdRule,
        /// Ids of `subscriptions/listen`.
        listen_id: IdRule,
        /// The requests that carry a `progressToken`, and its form.
        progress_tokens: ProgressTokens,
        /// Member of a call's `_meta` with the id that the model gave the call.
        tool_use_id_key: Option<String>,
        /// Further members of a call's `_meta`, before the progress token. `{thread}`, `{turn}`, `{call}` and `{place}`
        /// are filled in; `{turn_started_ms}` becomes a number.
        call_meta: PerMode<Value>,
        /// Whether a request without params is sent with empty ones.
        empty_params: bool,
    }
}

facts! {
    /// From the start of the process to the first list.
    Opening, OpeningPatch {
        /// Whether the host asks `server/discover` first.
        probe: bool,
        /// Whether a setting makes a host probe that does not do so by default.
        probe_configurable: bool,
        /// The protocol version that the probe and every modern request name.
        modern_version: String,
        /// Longest wait for the probe's answer, in milliseconds.
        probe_timeout_ms: u64,
        /// The probe gets at most the start limit divided by this; 0 means no such rule.
        probe_share: u64,
        /// Time by which that wait is shorter, in milliseconds.
        probe_margin_ms: u64,
        /// Reaction to a probe without an answer.
        probe_silence: OnSilence,
        /// Reaction to a server that exits on the probe.
        probe_exit: OnProbeExit,
        /// Time limit of the handshake, in milliseconds.
        start_timeout_ms: u64,
        /// When that limit begins.
        start_clock: StartClock,
        /// Whether a setting changes that limit.
        start_timeout_configurable: bool,
        /// How the host leaves a server whose limit is over.
        on_start_timeout: GiveUp,
        /// How the host leaves a server whose version it does not accept.
        on_refused_version: GiveUp,
        /// Whether the modern version in the answer to `initialize` switches to modern requests.
        modern_by_initialize: bool,
        /// How long the first turn waits for the tools before it begins without them, in milliseconds; none
        /// means until the server is open or given up.
        turn_waits_ms: Option<u64>,
    }
}

facts! {
    /// The lists that the host requests, and when.
    Lists, ListsPatch {
        /// Lists after `initialized`, in order.
        order: PerMode<Vec<ListKind>>,
        /// Whether each list request waits for the answer to the one before.
        one_by_one: bool,
        /// Whether the host then requests every prompt, with placeholders as its arguments.
        fetch_prompts: PerMode<bool>,
        /// Lists in the modern era, in order.
        modern_order: Vec<ListKind>,
        /// Lists that the host requests although the server does not declare them.
        undeclared: Vec<ListKind>,
        /// Whether the host follows `nextCursor`.
        follow_cursor: bool,
        /// Time limit of a list, in milliseconds; none means the limit of a tool call.
        timeout_ms: Option<u64>,
        /// Whether the host gives up a server whose tools do not come in time.
        timeout_drops_server: bool,
        /// Whether a host that knows the tools from an earlier run requests them once more before the first
        /// call.
        warm_cache_asks_again: bool,
    }
}

facts! {
    /// The era of 2026-07-28, after an accepted probe.
    Modern, ModernPatch {
        /// Whether `subscriptions/listen` is sent.
        listen: bool,
        /// Waits before the stream is requested again after a refusal, in milliseconds, in order.
        listen_retry_ms: Vec<u64>,
        /// Whether every further refusal makes the host request all lists again.
        relist_on_refusal: bool,
        /// Whether the lists wait for the answer to the stream's request.
        lists_wait_for_listen: bool,
        /// Longest such wait, in milliseconds.
        lists_wait_max_ms: u64,
        /// Whether a second `server/discover` follows the acknowledgement.
        discover_after_acknowledgement: bool,
        /// Whether a notification on the stream outside its filter makes the host cancel and request it
        /// again.
        strict_stream: bool,
        /// The reason of that cancellation.
        strict_stream_reason: String,
        /// Waits before the next request after that, in milliseconds, in order.
        strict_stream_retry_ms: Vec<u64>,
        /// Whether the host requests tools without `ttlMs` and without a stream again at every model step.
        relist_when_uncached: bool,
        /// Whether the host cancels the stream when it exits.
        cancel_listen_at_exit: bool,
        /// Whether the host answers a `ping` request of the server.
        answers_ping: bool,
    }
}

facts! {
    /// Tool calls: limits, cancellations, order.
    Calls, CallsPatch {
        /// Time limit without a setting, in milliseconds.
        timeout_ms: u64,
        /// Whether a setting changes it.
        timeout_configurable: bool,
        /// Smallest limit that a setting can give, in milliseconds.
        timeout_floor_ms: u64,
        /// Whether the setting is lost when the server's tools change.
        setting_lost_on_change: bool,
        /// Whether progress restarts the limit.
        progress_extends: bool,
        /// Limit without progress, in milliseconds.
        idle_timeout_ms: Option<u64>,
        /// `reason` of the cancellation after the limit.
        timeout_reason: String,
        /// `reason` of the cancellation by the user; none means that nothing is sent.
        interrupt_reason: Option<String>,
        /// Time after which a call that has ended, by an answer or by its limit, is cancelled with that
        /// reason, in milliseconds.
        abort_after_ms: Option<u64>,
        /// Whether open calls are cancelled when the host exits.
        cancel_at_exit: bool,
        /// The calls of one step that run at the same time.
        parallel: Parallel,
        /// Time after which a call goes to the background, in milliseconds.
        background_after_ms: PerMode<Option<u64>>,
        /// Whether a setting makes calls go to the background in a mode in which they don't do so by default.
        background_configurable: bool,
    }
}

facts! {
    /// The effect of each notification of the server. Any notification that is not named here is dropped.
    Notifications, NotificationsPatch {
        /// `notifications/tools/list_changed`.
        tools_list_changed: PerMode<ListChanged>,
        /// `notifications/prompts/list_changed`.
        prompts_list_changed: PerMode<ListChanged>,
        /// `notifications/resources/list_changed`.
        resources_list_changed: PerMode<ListChanged>,
        /// Whether a `list_changed` needs the `listChanged` capability.
        needs_declaration: bool,
        /// Lists that the host requests when the resources have changed.
        resources_relist: Vec<ListKind>,
        /// Shortest time between two requests for one list, in milliseconds.
        relist_interval_ms: u64,
        /// Time after which a list that came back unchanged is requested once more, in milliseconds.
        unchanged_again_ms: Option<u64>,
    }
}

facts! {
    /// The channel: a notification that becomes a prompt.
    Channel, ChannelPatch {
        /// Whether it reaches the model if the session names the server.
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
        /// Whether `</tag>` and the reserved names in the content are escaped.
        content_neutralised: bool,
        /// Names that are escaped besides the tag itself.
        reserved_tags: Vec<String>,
        /// Brackets that count as `<` in the search for those names.
        look_alike_brackets: Vec<String>,
        /// Whether the server is told of a permission dialog.
        permission_relayed: PerMode<bool>,
        /// Member of `capabilities.experimental` that the server must declare for it, besides that of the
        /// channel.
        permission_capability: String,
        /// The notification that tells the server.
        permission_request_method: String,
        /// The notification by which the server answers.
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
        /// `elicitation/create` of mode `url`, if the host refuses it although it takes forms.
        url_elicitation: Option<Refusal>,
        /// An answer to a call that says what it needs of the user, in the newer era: `no_such_method` if the host takes it
        /// for a result.
        input_required: PerMode<OnAsk>,
        /// Message of the -32601 error for an unknown method.
        unknown_message: UnknownMessage,
    }
}

facts! {
    /// The texts of results for the model. `{server}`, `{tool}`, `{name}`, `{message}`, `{code}`,
    /// `{seconds}`, `{uri}`, `{description}`, `{text}`, `{json}`, `{path}`, `{size}`, `{preview}`, `{tail}`,
    /// `{task}`, `{status}`, `{summary}` and `{result}` are filled in where they have a value.
    Texts, TextsPatch {
        /// A text block.
        text: String,
        /// Around a whole result, whatever its size.
        frame: String,
        /// Between text blocks. If a host keeps blocks apart, a newline stands for the border.
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
        /// A result that is not valid, or has an unknown content type.
        invalid: String,
        /// Whether a result without `content` counts as invalid.
        content_required: bool,
        /// The unit of the two sizes below.
        size_unit: SizeUnit,
        /// Longest text that is shown whole.
        whole_max: u64,
        /// The replacement of a longer text.
        beyond_whole: String,
        /// Characters of `{preview}` in the replacement.
        preview_characters: u64,
        /// Characters of `{tail}` in the replacement, the end of the result.
        tail_characters: u64,
        /// Size from which another replacement is used.
        refused_from: Option<u64>,
        /// That replacement.
        beyond_refused: String,
        /// Member of a tool's `_meta` that raises `whole_max`.
        size_key: Option<String>,
        /// Most to which it can be raised.
        size_key_max: u64,
        /// A JSON-RPC error in answer to a call.
        rpc_error: String,
        /// A call that hit its limit.
        timed_out: String,
        /// A call that the user interrupted.
        interrupted: String,
        /// A call during which the server exited.
        closed: String,
        /// A call to a server that has exited.
        gone: String,
        /// A call of an unknown tool.
        no_such_tool: String,
        /// A call that the user's settings refuse.
        denied: String,
        /// The immediate result of a call that goes to the background.
        backgrounded: String,
        /// The block with the result of a background call.
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
        /// Characters that are kept besides ASCII letters and digits.
        kept: String,
        /// The replacement of any other character.
        replacement: String,
        /// Whether names with non-ASCII characters are encoded as punycode.
        punycode: bool,
        /// Longest name, in characters.
        max: u64,
        /// The fate of a longer name.
        overlong: Overlong,
        /// Longest description, in characters.
        description_max: Option<u64>,
        /// The mark after a cut text.
        cut_mark: String,
        /// The tools that come with their description.
        shown: ToolsShown,
        /// Member of a tool's `_meta` with which its description always comes.
        always_load_key: Option<String>,
        /// Whether the server's `instructions` reach the model without a setting.
        instructions: bool,
        /// Whether the model or the user can read resources.
        resources: bool,
        /// Whether the user can use prompts.
        prompts: bool,
    }
}

facts! {
    /// Tools and servers that a host, or the API of its model, may refuse because of what they declare.
    Schemas, SchemasPatch {
        /// A tool whose input schema has no `properties`.
        without_properties: Fate,
        /// A tool with `anyOf`, `oneOf` or `allOf` at the root of its input schema.
        root_union: Fate,
        /// A tool whose input schema has a root that is no object, or also null.
        root_not_object: Fate,
        /// A tool with a `$ref` in its input schema.
        references: Fate,
        /// A tool with a list of types in its input schema.
        type_lists: Fate,
        /// A tool without `inputSchema`, or with a null one.
        no_schema: Fate,
        /// A tool whose description, title or annotations are null.
        null_members: Fate,
        /// A tool whose `outputSchema` is null.
        null_output: Fate,
        /// A tool whose description is no text.
        wrong_description: Fate,
        /// A tool without a name.
        nameless: Fate,
        /// A server whose answer to `initialize` has no name or no version in its `serverInfo`.
        server_info: Fate,
        /// The model's text if it calls a tool that runs as a task only; none means that such a tool is
        /// called as any other. `{tool}` is filled in.
        task_only: Option<String>,
    }
}

facts! {
    /// The server process: its restart and its end.
    Life, LifePatch {
        /// Whether a server that has exited is started again.
        restart: PerMode<Restart>,
        /// Whether the tools of a server that has exited are gone for the model.
        tools_go: PerMode<bool>,
        /// The steps by which a server is ended.
        shutdown: Vec<StopStep>,
        /// The reaction to a closed stdout of a running process.
        stdout_closed: OnStdoutClosed,
    }
}

facts! {
    /// How close the fake must be to a recording, in milliseconds.
    Fidelity, FidelityPatch {
        /// Most by which the fake may react earlier: the delays of the real program itself.
        early_ms: u64,
        /// Most by which the fake may react later.
        late_ms: u64,
        /// Most by which a time limit may differ.
        limit_ms: u64,
        /// The version whose recordings gave these numbers; empty if there are none.
        recordings: String,
    }
}

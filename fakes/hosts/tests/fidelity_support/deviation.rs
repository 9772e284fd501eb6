//! Known deviations: of recorded versions without a profile, and of single recordings that differ from their
//! profile. An entry states facts or names a place, with its reason; it never covers more than it names.

use std::sync::Arc;

use fake_hosts::Profile;
use serde_json::Value;

/// The deviations of a version, or of one recording of it, from the profile that stands for it.
pub(crate) struct Deviation {
    /// The folder of the recordings.
    version: &'static str,
    /// The recording; `None` for the whole version.
    name: Option<&'static str>,
    /// The profile that stands for the version, if it is not the nearest one below.
    pub(crate) base: Option<&'static str>,
    /// Facts that replace those of the profile, as a profile file writes them.
    facts: &'static str,
    /// The behaviour of its new client, if it is one of those between the profiles.
    client: Option<NewClient>,
    /// Texts of differences that no fact can state.
    pub(crate) differences: &'static [&'static str],
    /// The reason.
    pub(crate) reason: &'static str,
}

/// The differences among the versions of the new client before its probe.
struct NewClient {
    /// The version as the client tells it.
    version: &'static str,
    /// Its capabilities, in both modes.
    capabilities: &'static str,
    /// How often the tools are listed at the start.
    lists: &'static str,
}

impl NewClient {
    /// Its facts as differences from 1.0.83, as a profile file writes them.
    fn facts(&self) -> String {
        let Self { version, capabilities, lists } = self;
        let both = |value: &str| {
            format!("{{ value: {{ tui: {value}, print: {value} }}, mark: observed, source: here }}")
        };
        let one = |value: &str| format!("{{ value: {value}, mark: observed, source: here }}");
        format!(
            "identity:\n  client_info: {}\n  capabilities: {}\nwire:\n  call_params_order: {}\n\
             opening:\n  probe: {}\nlists:\n  order: {}\n  one_by_one: {}\n  follow_cursor: {}\n  \
             warm_cache_asks_again: {}\nrequests:\n  sampling: {}\n  elicitation: {}\n",
            one(&format!("{{ name: github-copilot-developer, version: {version} }}")),
            both(capabilities),
            one("[_meta, name, arguments]"),
            one("false"),
            both(lists),
            one("true"),
            one("false"),
            one("false"),
            both("no_such_method"),
            both("silent"),
        )
    }
}

impl Deviation {
    /// The facts that replace those of the profile, as a profile file writes them; empty if there are none.
    pub(crate) fn facts(&self) -> String {
        self.client.as_ref().map_or_else(|| self.facts.to_owned(), NewClient::facts)
    }
}

const fn version(version: &'static str, facts: &'static str, reason: &'static str) -> Deviation {
    Deviation { version, name: None, base: None, facts, client: None, differences: &[], reason }
}

/// The terminal program requests its lists when its screen is ready, at a time of its own.
const LATE_LIST: &str = "early, 0 ms late & \"method\":\"tools/list\"";

const fn recording(
    version: &'static str,
    name: &'static str,
    facts: &'static str,
    differences: &'static [&'static str],
    reason: &'static str,
) -> Deviation {
    Deviation { version, name: Some(name), base: None, facts, client: None, differences, reason }
}

const ROOTS_CHANGE: &str = r"identity:
  capabilities: { value: { tui: { roots: { listChanged: true }, elicitation: {} }, print: { roots: { listChanged: true }, elicitation: {} } }, mark: observed, source: here }
";
const BACKGROUND: &str = r"identity:
  capabilities: { value: { tui: { roots: { listChanged: true }, elicitation: {} }, print: { roots: { listChanged: true }, elicitation: {} } }, mark: observed, source: here }
calls:
  background_after_ms: { value: { tui: 120000, print: null }, mark: observed, source: here }
  background_configurable: { value: true, mark: observed, source: here }
";
const FORM_AND_URL: &str = r"identity:
  capabilities: { value: { tui: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } }, print: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } } }, mark: observed, source: here }
";
const PROBE: &str = r"identity:
  capabilities: { value: { tui: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } }, print: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } } }, mark: observed, source: here }
  modern_capabilities: { value: { tui: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } }, print: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } } }, mark: observed, source: here }
opening:
  probe: { value: true, mark: observed, source: here }
";
const ONE_LIST: &str = r"lists:
  order: { value: { tui: [tools], print: [tools] }, mark: observed, source: here }
";
const TWO_LISTS: &str = r"lists:
  order: { value: { tui: [tools, tools], print: [tools, tools] }, mark: observed, source: here }
";
const THREE_LISTS: &str = r"lists:
  order: { value: { tui: [tools, tools, tools], print: [tools, tools, tools] }, mark: observed, source: here }
";
const EOF: &str = r"life:
  shutdown: { value: [{ after_ms: 0, how: close_stdin }], mark: observed, source: here }
";
const ONE_LIST_AND_EOF: &str = r"lists:
  order: { value: { tui: [tools], print: [tools] }, mark: observed, source: here }
life:
  shutdown: { value: [{ after_ms: 0, how: close_stdin }], mark: observed, source: here }
";

const LISTS: &str = "in some runs the tools are listed once or three times instead of twice";
const SCREEN: &str = "the terminal program lists when its screen is up; the older ones then list once";
const END: &str = "in some runs stdin is closed and no signal comes; the tools are listed once or twice";
const CANCELLED: &str = "\"stopReason\":\"cancelled\"";
const CANCELLED_REASON: &str =
    "sampling headless: a cancelled result in 1.0.71 and 1.0.80 only, which no profile has";
const BACKGROUND_REASON: &str =
    "long calls go to the background from 2.1.212 on; changed roots are named from 2.1.209 at the latest";
const PROBE_REASON: &str =
    "probes from 2.1.296 at the latest; form and url are named from 2.1.290 at the latest";
const NEW_CLIENT_REASON: &str =
    "the new client, before its probe: its wire is that of 1.0.83; page one only, a form is never answered";

/// A newer profile that stands for versions between it and the one below.
const fn new_client(
    folder: &'static str,
    version: &'static str,
    capabilities: &'static str,
    lists: &'static str,
) -> Deviation {
    Deviation {
        version: folder,
        name: None,
        base: Some("copilot-cli@1.0.83"),
        facts: "",
        client: Some(NewClient { version, capabilities, lists }),
        differences: &[],
        reason: NEW_CLIENT_REASON,
    }
}

const ELICITS: &str = "{ elicitation: { form: {}, url: {} } }";
const SAMPLES_AND_ELICITS: &str = "{ sampling: {}, elicitation: { form: {}, url: {} } }";

const DEVIATIONS: &[Deviation] = &[
    version(
        "claude-code-2.1.160",
        "notifications:\n  tools_list_changed: { value: { tui: now, print: now }, mark: observed, source: here }\n",
        "headless it follows changed tools from 2.1.160 at the latest",
    ),
    recording(
        "codex-0.169.0",
        "tui_grow_flag",
        "notifications:\n  tools_list_changed: { value: { tui: next_step, print: drop }, mark: observed, source: here }\n",
        &[],
        "a feature under development was on: changed tools are listed before the next model request",
    ),
    version("claude-code-2.1.209", ROOTS_CHANGE, "changed roots are named from 2.1.209 at the latest"),
    version("claude-code-2.1.212", BACKGROUND, BACKGROUND_REASON),
    version("claude-code-2.1.213", BACKGROUND, BACKGROUND_REASON),
    version("claude-code-2.1.218", BACKGROUND, BACKGROUND_REASON),
    version("claude-code-2.1.290", FORM_AND_URL, "form and url are named from 2.1.290 at the latest"),
    version("claude-code-2.1.296", PROBE, PROBE_REASON),
    version("claude-code-2.1.301", PROBE, PROBE_REASON),
    version("claude-code-2.1.306", PROBE, PROBE_REASON),
    version(
        "copilot-cli-0.0.354",
        "lists:\n  order: { value: { tui: [], print: [tools] }, mark: observed, source: here }\n",
        "without a login nothing is listed",
    ),
    recording(
        "copilot-cli-0.0.354",
        "tui_nologin",
        "",
        &["is missing & SIGTERM"],
        "the signal came from the terminal",
    ),
    recording(
        "claude-code-2.1.80",
        "tui_sleep_bg",
        "",
        &["1117 ms early, 0 ms late & \"method\":\"initialize\""],
        "a slow start of the program",
    ),
    version(
        "copilot-cli-0.0.423",
        "identity:\n  protocol_version: { value: \"2025-11-25\", mark: observed, source: here }\n",
        "asks for 2025-11-25 from 0.0.423 at the latest",
    ),
    version(
        "copilot-cli-1.0.10",
        "lists:\n  order: { value: { tui: [tools, tools], print: [tools, tools] }, mark: observed, source: here }\n",
        "lists twice from 1.0.10 at the latest",
    ),
    version(
        "copilot-cli-1.0.34",
        "identity:\n  client_info: { value: { name: github-copilot-developer, version: 1.0.34 }, mark: observed, source: here }\n",
        "tells its own version from 1.0.34 at the latest",
    ),
    version(
        "copilot-cli-1.0.41",
        "identity:\n  client_info: { value: { name: github-copilot-developer, version: 1.0.41 }, mark: observed, source: here }\n  \
         capabilities: { value: { tui: {}, print: { elicitation: { form: {}, url: {} } } }, mark: observed, source: here }\n",
        "tells its own version from 1.0.34, and of elicitation headless from 1.0.41 at the latest",
    ),
    recording("copilot-cli-1.0.11", "tui_async_wake", ONE_LIST, &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.50", "tui_async_wake", THREE_LISTS, &[], LISTS),
    recording("copilot-cli-1.0.50", "tui_sampling", THREE_LISTS, &[], LISTS),
    recording("copilot-cli-1.0.50", "ext_busy_exp", ONE_LIST, &[], LISTS),
    recording("copilot-cli-1.0.50", "tui_ext_wake", ONE_LIST, &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.50", "tui_relist_idle", ONE_LIST, &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.66", "paging", ONE_LIST_AND_EOF, &[], END),
    recording("copilot-cli-1.0.66", "basic", EOF, &[], END),
    recording("copilot-cli-1.0.71", "paging", EOF, &[], END),
    recording("copilot-cli-1.0.75", "basic", TWO_LISTS, &[], LISTS),
    recording("copilot-cli-1.0.83", "tui_async_wake", "", &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.83", "tui_modern_task", "", &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.83", "tui_relist_idle", "", &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.83", "tui_sampling", "", &[LATE_LIST], SCREEN),
    recording("copilot-cli-1.0.83", "tui_ui_server", "", &[LATE_LIST], SCREEN),
    new_client("copilot-cli-1.0.66", "1.0.66", ELICITS, "[tools, tools]"),
    new_client("copilot-cli-1.0.71", "1.0.71", SAMPLES_AND_ELICITS, "[tools]"),
    new_client("copilot-cli-1.0.75", "1.0.75", SAMPLES_AND_ELICITS, "[tools]"),
    new_client("copilot-cli-1.0.78", "1.0.78", SAMPLES_AND_ELICITS, "[tools]"),
    new_client("copilot-cli-1.0.80", "1.0.80", SAMPLES_AND_ELICITS, "[tools]"),
    recording(
        "copilot-cli-1.0.66",
        "ask",
        "",
        &["sampling is not supported by this client"],
        "sampling headless: -32603 here only, which no profile has",
    ),
    recording("copilot-cli-1.0.71", "ask", "", &[CANCELLED], CANCELLED_REASON),
    recording("copilot-cli-1.0.80", "ask", "", &[CANCELLED], CANCELLED_REASON),
];

/// Folder and recording of every entry; nothing for a whole version.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    DEVIATIONS.iter().map(|one| (one.version, one.name))
}

/// The deviations of a whole version.
pub(crate) fn of_version(version: &str) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|one| one.version == version && one.name.is_none())
}

/// The deviations of one recording.
pub(crate) fn of_recording(version: &str, name: &str) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|one| one.version == version && one.name == Some(name))
}

/// The older Copilot CLI gives its version as 1.0.0 in all its versions.
const ALWAYS_ONE: &str = "copilot-cli@1.0.0";

/// The profile of a recorded version: the base with this version and the deviating facts.
pub(crate) fn laid_over(
    folder: &str,
    version: &str,
    base: &Arc<Profile>,
    known: &[&Deviation],
) -> Result<Arc<Profile>, String> {
    let mut layers: Vec<String> = Vec::new();
    let (_, base_version) = base.id.split_once('@').unwrap_or_default();
    let mut client = base.identity.client_info.value.clone();
    if client["version"] == base_version && version != base_version && base.id != ALWAYS_ONE {
        client["version"] = Value::from(version);
        layers.push(format!(
            "identity:\n  client_info: {{ value: {client}, mark: observed, source: its own version }}\n"
        ));
    }
    layers.extend(known.iter().map(|known| known.facts()).filter(|facts| !facts.is_empty()));
    if layers.is_empty() {
        return Ok(Arc::clone(base));
    }
    let id = |place: usize| match place {
        0 => base.id.clone(),
        place => format!("{folder}@{place}"),
    };
    let files: Vec<String> = layers
        .iter()
        .zip(1..)
        .map(|(facts, place)| {
            let (id, parent, family) = (id(place), id(place - 1), &base.family);
            format!("id: {id}\nextends: {parent}\nfamily: {family}\ntitle: x\nabout: x\n{facts}")
        })
        .collect();
    fake_hosts::load_chain(folder, &files).map(Arc::new).map_err(|error| error.to_string())
}

//! Reads the file of a profile and completes it from its parents. Unknown keys, missing facts and unknown
//! parents are errors with their place; nothing is filled in silently.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::yaml::yaml_problem;
use super::Profile;
use super::consent::{ConsentPatch, EnvironmentPatch};
use super::sections::{
    CallsPatch, ChannelPatch, FidelityPatch, IdentityPatch, LifePatch, ListsPatch, ModernPatch, NamesPatch,
    NotificationsPatch, OpeningPatch, RequestsPatch, SchemasPatch, TextsPatch, WirePatch,
};
use super::wake::{HooksPatch, ShellPatch, TasksPatch, WakeUpPatch, WakingPatch};

/// Longest chain of `extends`.
const EXTENDS_DEPTH_MAX: usize = 16;

/// A profile as its file states it: complete, or as the difference from the one that it extends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "host profile")]
pub struct ProfileFile {
    /// `family@version`.
    pub id: String,
    /// The profile whose facts hold where this file states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The host's family.
    pub family: String,
    /// The title for reports.
    pub title: String,
    /// Where the evidence comes from, and its limits.
    pub about: String,
    /// The name and capabilities of the host.
    #[serde(default)]
    pub identity: IdentityPatch,
    /// Member order and ids.
    #[serde(default)]
    pub wire: WirePatch,
    /// The handshake.
    #[serde(default)]
    pub opening: OpeningPatch,
    /// Lists.
    #[serde(default)]
    pub lists: ListsPatch,
    /// The era of 2026-07-28.
    #[serde(default)]
    pub modern: ModernPatch,
    /// Tool calls.
    #[serde(default)]
    pub calls: CallsPatch,
    /// Notifications of the server.
    #[serde(default)]
    pub notifications: NotificationsPatch,
    /// The channel.
    #[serde(default)]
    pub channel: ChannelPatch,
    /// Requests of the server.
    #[serde(default)]
    pub requests: RequestsPatch,
    /// The texts for the model.
    #[serde(default)]
    pub texts: TextsPatch,
    /// Names and descriptions.
    #[serde(default)]
    pub names: NamesPatch,
    /// Tools that may be refused.
    #[serde(default)]
    pub schemas: SchemasPatch,
    /// Life of the process.
    #[serde(default)]
    pub life: LifePatch,
    /// Background shells of the model.
    #[serde(default)]
    pub shell: ShellPatch,
    /// Commands that the host runs at certain moments.
    #[serde(default)]
    pub hooks: HooksPatch,
    /// Hooks that run beside an idle session and wake it.
    #[serde(default)]
    pub waking: WakingPatch,
    /// The wake-up.
    #[serde(default)]
    pub wake_up: WakeUpPatch,
    /// Calls that become tasks.
    #[serde(default)]
    pub tasks: TasksPatch,
    /// Questions to the user.
    #[serde(default)]
    pub consent: ConsentPatch,
    /// The environment of servers.
    #[serde(default)]
    pub environment: EnvironmentPatch,
    /// The tolerances against the recordings.
    #[serde(default)]
    pub fidelity: FidelityPatch,
}

/// Why a profile could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The text is not YAML or has an unknown key.
    #[error("host profile {name}: {problem}")]
    Unreadable {
        /// File or profile name.
        name: String,
        /// Line, column and cause.
        problem: String,
    },
    /// Facts that neither the file nor its parents state.
    #[error("host profile {name}: no file states {}; state each with value, mark and source", missing.join(", "))]
    Missing {
        /// Profile id.
        name: String,
        /// `section.field` of each.
        missing: Vec<String>,
    },
    /// `extends` names an unknown profile or leads into a circle.
    #[error("host profile {name}: extends {parent}, which is not known or extends it in turn")]
    Parent {
        /// Profile id.
        name: String,
        /// What it extends.
        parent: String,
    },
    /// There is no profile with this name.
    #[error("no host profile {name}{}", suggestion.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default())]
    Unknown {
        /// The requested name.
        name: String,
        /// The nearest known id.
        suggestion: Option<String>,
    },
}

/// Reads the text of one file.
///
/// # Errors
/// If it is not YAML or has an unknown key, with line and column.
pub(super) fn read(name: &str, text: &str) -> Result<ProfileFile, ProfileError> {
    let mut file: ProfileFile = serde_saphyr::from_str(text).map_err(|error| ProfileError::Unreadable {
        name: name.to_owned(),
        problem: yaml_problem(name, &error),
    })?;
    stamp(&mut file);
    Ok(file)
}

/// Records in every fact of a file that this file states it.
fn stamp(file: &mut ProfileFile) {
    let id = file.id.as_str();
    file.identity.stamp(id);
    file.wire.stamp(id);
    file.opening.stamp(id);
    file.lists.stamp(id);
    file.modern.stamp(id);
    file.calls.stamp(id);
    file.notifications.stamp(id);
    file.channel.stamp(id);
    file.requests.stamp(id);
    file.texts.stamp(id);
    file.names.stamp(id);
    file.schemas.stamp(id);
    file.life.stamp(id);
    file.shell.stamp(id);
    file.hooks.stamp(id);
    file.waking.stamp(id);
    file.wake_up.stamp(id);
    file.tasks.stamp(id);
    file.consent.stamp(id);
    file.environment.stamp(id);
    file.fidelity.stamp(id);
}

/// The profile `id`, completed from all its parents.
pub(super) fn resolve(files: &BTreeMap<String, ProfileFile>, id: &str) -> Result<Profile, ProfileError> {
    let mut whole = files
        .get(id)
        .cloned()
        .ok_or_else(|| ProfileError::Unknown { name: id.to_owned(), suggestion: None })?;
    let own = whole.extends.clone();
    let mut next = own.clone();
    for _ in 0..EXTENDS_DEPTH_MAX {
        let Some(parent) = next.take() else {
            whole.extends = own;
            return complete(whole);
        };
        let file = files
            .get(&parent)
            .cloned()
            .ok_or_else(|| ProfileError::Parent { name: id.to_owned(), parent: parent.clone() })?;
        next.clone_from(&file.extends);
        whole = over(whole, file);
    }
    Err(ProfileError::Parent { name: id.to_owned(), parent: next.unwrap_or_default() })
}

fn over(child: ProfileFile, parent: ProfileFile) -> ProfileFile {
    ProfileFile {
        id: child.id,
        extends: child.extends,
        family: child.family,
        title: child.title,
        about: child.about,
        identity: child.identity.over(parent.identity),
        wire: child.wire.over(parent.wire),
        opening: child.opening.over(parent.opening),
        lists: child.lists.over(parent.lists),
        modern: child.modern.over(parent.modern),
        calls: child.calls.over(parent.calls),
        notifications: child.notifications.over(parent.notifications),
        channel: child.channel.over(parent.channel),
        requests: child.requests.over(parent.requests),
        texts: child.texts.over(parent.texts),
        names: child.names.over(parent.names),
        schemas: child.schemas.over(parent.schemas),
        life: child.life.over(parent.life),
        shell: child.shell.over(parent.shell),
        hooks: child.hooks.over(parent.hooks),
        waking: child.waking.over(parent.waking),
        wake_up: child.wake_up.over(parent.wake_up),
        tasks: child.tasks.over(parent.tasks),
        consent: child.consent.over(parent.consent),
        environment: child.environment.over(parent.environment),
        fidelity: child.fidelity.over(parent.fidelity),
    }
}

fn complete(file: ProfileFile) -> Result<Profile, ProfileError> {
    let mut missing = Vec::new();
    let name = file.id.clone();
    let whole = whole(file, &mut missing);
    whole.ok_or(ProfileError::Missing { name, missing })
}

fn whole(file: ProfileFile, missing: &mut Vec<String>) -> Option<Profile> {
    // All sections are completed before the first `?`, so that one error names everything that is missing.
    let identity = file.identity.complete("identity", missing);
    let wire = file.wire.complete("wire", missing);
    let opening = file.opening.complete("opening", missing);
    let lists = file.lists.complete("lists", missing);
    let modern = file.modern.complete("modern", missing);
    let calls = file.calls.complete("calls", missing);
    let notifications = file.notifications.complete("notifications", missing);
    let channel = file.channel.complete("channel", missing);
    let requests = file.requests.complete("requests", missing);
    let texts = file.texts.complete("texts", missing);
    let names = file.names.complete("names", missing);
    let schemas = file.schemas.complete("schemas", missing);
    let life = file.life.complete("life", missing);
    let shell = file.shell.complete("shell", missing);
    let hooks = file.hooks.complete("hooks", missing);
    let waking = file.waking.complete("waking", missing);
    let wake_up = file.wake_up.complete("wake_up", missing);
    let tasks = file.tasks.complete("tasks", missing);
    let consent = file.consent.complete("consent", missing);
    let environment = file.environment.complete("environment", missing);
    let fidelity = file.fidelity.complete("fidelity", missing);
    Some(Profile {
        id: file.id,
        family: file.family,
        title: file.title,
        about: file.about,
        extends: file.extends,
        identity: identity?,
        wire: wire?,
        opening: opening?,
        lists: lists?,
        modern: modern?,
        calls: calls?,
        notifications: notifications?,
        channel: channel?,
        requests: requests?,
        texts: texts?,
        names: names?,
        schemas: schemas?,
        life: life?,
        shell: shell?,
        hooks: hooks?,
        waking: waking?,
        wake_up: wake_up?,
        tasks: tasks?,
        consent: consent?,
        environment: environment?,
        fidelity: fidelity?,
    })
}

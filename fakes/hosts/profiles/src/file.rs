//! Reads the file of a profile and completes it from its parents. Unknown keys, missing facts and unknown
//! parents are errors with their place; nothing is filled in silently.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::consent::{Consent, ConsentPatch, Environment, EnvironmentPatch};
use super::fact::Evidence;
use super::faults::{Faults, FaultsPatch};
use super::sections::{
    Calls, CallsPatch, Channel, ChannelPatch, Fidelity, FidelityPatch, Identity, IdentityPatch, Life,
    LifePatch, Lists, ListsPatch, Modern, ModernPatch, Names, NamesPatch, Notifications, NotificationsPatch,
    Opening, OpeningPatch, Requests, RequestsPatch, Schemas, SchemasPatch, Texts, TextsPatch, Wire,
    WirePatch,
};
use super::wake::{
    Hooks, HooksPatch, Shell, ShellPatch, Tasks, TasksPatch, WakeUp, WakeUpPatch, Waking, WakingPatch,
};

/// Longest chain of `extends`.
const EXTENDS_DEPTH_MAX: usize = 16;

/// Declares the profile twice: complete, as the machine reads it, and as a file states it.
macro_rules! profile {
    ($( $(#[$meta:meta])* $field:ident: $section:ident, $patch:ident; )*) => {
        /// Every fact by which a fake host of one version behaves.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Profile {
            /// `family@version`, as given on a command line.
            pub id: String,
            /// The host's family, the same for all versions and names.
            pub family: String,
            /// The title for reports.
            pub title: String,
            /// The source of the evidence as a whole, and its limits.
            pub about: String,
            /// The profile from which this one differs.
            pub extends: Option<String>,
            $( $(#[$meta])* pub $field: $section, )*
        }

        impl Profile {
            /// Every fact with its mark and source, in the order of the sections.
            pub fn evidence(&self) -> Vec<Evidence> {
                let mut lines = Vec::new();
                $( self.$field.evidence(stringify!($field), &mut lines); )*
                lines
            }

            /// Marks every fact of a section as unknown that another profile states.
            fn forget_inherited(&mut self, section: &str, id: &str) {
                $(
                    if section == stringify!($field) {
                        self.$field.forget_inherited(id);
                    }
                )*
            }
        }

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
            /// Whether the facts about faults of the profile that this one extends were tried again on this version
            /// and hold where it states no other. Without it they count as unknown here.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub faults_hold: bool,
            $( $(#[$meta])* #[serde(default)] pub $field: $patch, )*
        }

        impl ProfileFile {
            /// Records in every fact that this file states it.
            fn stamp(&mut self) {
                $( self.$field.stamp(&self.id); )*
            }

            /// This file, with the facts of its parent where it states none.
            fn over(self, parent: Self) -> Self {
                Self { $( $field: self.$field.over(parent.$field), )* ..self }
            }

            /// The complete profile. All sections are completed before the first `?`, so that one error names
            /// everything that is missing.
            fn complete(self, missing: &mut Vec<String>) -> Option<Profile> {
                $( let $field = self.$field.complete(stringify!($field), missing); )*
                Some(Profile {
                    id: self.id,
                    family: self.family,
                    title: self.title,
                    about: self.about,
                    extends: self.extends,
                    $( $field: $field?, )*
                })
            }
        }
    };
}

profile! {
    /// The name and capabilities of the host.
    identity: Identity, IdentityPatch;
    /// Member order and ids.
    wire: Wire, WirePatch;
    /// The handshake.
    opening: Opening, OpeningPatch;
    /// Lists.
    lists: Lists, ListsPatch;
    /// The era of 2026-07-28.
    modern: Modern, ModernPatch;
    /// Tool calls.
    calls: Calls, CallsPatch;
    /// Notifications of the server.
    notifications: Notifications, NotificationsPatch;
    /// The channel.
    channel: Channel, ChannelPatch;
    /// Requests of the server.
    requests: Requests, RequestsPatch;
    /// The texts for the model.
    texts: Texts, TextsPatch;
    /// Names and descriptions.
    names: Names, NamesPatch;
    /// Tools that may be refused.
    schemas: Schemas, SchemasPatch;
    /// Faulty lines and answers.
    faults: Faults, FaultsPatch;
    /// Life of the process.
    life: Life, LifePatch;
    /// Background shells of the model.
    shell: Shell, ShellPatch;
    /// Commands that the host runs at certain moments.
    hooks: Hooks, HooksPatch;
    /// Hooks that run beside an idle session and wake it.
    waking: Waking, WakingPatch;
    /// The wake-up.
    wake_up: WakeUp, WakeUpPatch;
    /// Calls that become tasks.
    tasks: Tasks, TasksPatch;
    /// Questions to the user.
    consent: Consent, ConsentPatch;
    /// The environment of servers.
    environment: Environment, EnvironmentPatch;
    /// The tolerances against the recordings.
    fidelity: Fidelity, FidelityPatch;
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
    let mut file: ProfileFile = yaml::read(text).map_err(|mistake| ProfileError::Unreadable {
        name: name.to_owned(),
        problem: mistake.within(name, text),
    })?;
    file.stamp();
    Ok(file)
}

/// The profile `id`, completed from all its parents.
pub(super) fn resolve(files: &BTreeMap<String, ProfileFile>, id: &str) -> Result<Profile, ProfileError> {
    let mut whole = files
        .get(id)
        .cloned()
        .ok_or_else(|| ProfileError::Unknown { name: id.to_owned(), suggestion: None })?;
    let own = whole.extends.clone();
    let faults_hold = whole.faults_hold;
    let mut next = own.clone();
    for _ in 0..EXTENDS_DEPTH_MAX {
        let Some(parent) = next.take() else {
            whole.extends = own;
            let mut missing = Vec::new();
            let mut profile =
                whole.complete(&mut missing).ok_or(ProfileError::Missing { name: id.to_owned(), missing })?;
            if !faults_hold {
                profile.forget_inherited("faults", id);
            }
            return Ok(profile);
        };
        let file = files
            .get(&parent)
            .cloned()
            .ok_or_else(|| ProfileError::Parent { name: id.to_owned(), parent: parent.clone() })?;
        next.clone_from(&file.extends);
        whole = whole.over(file);
    }
    Err(ProfileError::Parent { name: id.to_owned(), parent: next.unwrap_or_default() })
}

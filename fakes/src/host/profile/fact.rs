//! One fact about a host with the evidence for it, and the macro that lists facts in sections.
//! A fact is never used without a mark and a source, so that no rule of a fake is somebody's memory.

use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a fact is known, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Seen on the wire or in a model request of the real program.
    Observed,
    /// Read in the strings or the text of the program.
    String,
    /// Written in the vendor's documents.
    Documented,
    /// Said by the documents this project started from; not seen by us.
    Seed,
    /// Nobody knows; the most likely behaviour was chosen.
    Guess,
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Observed => "observed",
            Self::String => "string",
            Self::Documented => "documented",
            Self::Seed => "seed",
            Self::Guess => "guess",
        })
    }
}

/// A value, how it is known, and where that can be looked up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact<T> {
    /// The value that the fake host obeys.
    pub value: T,
    /// How the value is known.
    pub mark: Mark,
    /// Where: a recording, a document, a reason.
    pub source: String,
}

impl<T> Deref for Fact<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> Fact<T> {
    /// The fact as a line of the evidence table.
    pub(crate) fn evidence(&self, section: &str, field: &str) -> Evidence {
        Evidence {
            name: format!("{section}.{field}"),
            value: serde_json::to_value(&self.value).unwrap_or_default(),
            mark: self.mark,
            source: self.source.clone(),
        }
    }
}

/// One line of `hostcheck hosts NAME`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// `section.field`.
    pub name: String,
    /// The value as JSON.
    pub value: serde_json::Value,
    /// How it is known.
    pub mark: Mark,
    /// Where it can be looked up.
    pub source: String,
}

/// A value that differs between the interactive and the headless mode of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerMode<T> {
    /// In the interactive terminal program.
    pub tui: T,
    /// In a headless run with one prompt.
    pub print: T,
}

/// Declares a section twice: whole, as the machine reads it, and as a patch, as a file states it.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        $section:ident, $patch:ident {
            $( $(#[$field_meta:meta])* $field:ident: $kind:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $section {
            $( $(#[$field_meta])* pub $field: Fact<$kind>, )*
        }

        $(#[$meta])*
        ///
        /// A file states only what differs from the profile it extends.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $patch {
            $(
                $(#[$field_meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<Fact<$kind>>,
            )*
        }

        impl $patch {
            /// This patch, with the parent's facts where it says nothing.
            pub(crate) fn over(self, parent: Self) -> Self {
                Self { $( $field: self.$field.or(parent.$field), )* }
            }

            /// The whole section, or the names of what nobody stated.
            pub(crate) fn complete(self, section: &str, missing: &mut Vec<String>) -> Option<$section> {
                $(
                    if self.$field.is_none() {
                        missing.push(format!("{section}.{}", stringify!($field)));
                    }
                )*
                Some($section { $( $field: self.$field?, )* })
            }
        }

        impl $section {
            /// Appends one line a fact.
            pub(crate) fn evidence(&self, section: &str, lines: &mut Vec<Evidence>) {
                $( lines.push(self.$field.evidence(section, stringify!($field))); )*
            }
        }
    };
}

pub(crate) use facts;

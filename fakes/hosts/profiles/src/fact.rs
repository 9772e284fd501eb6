//! A fact about a host with its evidence, and the macro that declares sections of facts. Every fact has a
//! mark and a source, so that no behaviour of a fake rests on memory.

use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Mode;

/// How a fact is known, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Observed on the wire or in a model request of the real program.
    Observed,
    /// Read in the strings or the source of the program.
    String,
    /// Stated in the vendor's documents.
    Documented,
    /// Stated in the documents from which this project started; not observed.
    Seed,
    /// Observed in part or not at all; the most likely behaviour, or wording, was chosen.
    Guess,
    /// Never examined. The value is the one that demands most of a server, and no scenario may rely on it.
    Unknown,
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Observed => "observed",
            Self::String => "string",
            Self::Documented => "documented",
            Self::Seed => "seed",
            Self::Guess => "guess",
            Self::Unknown => "unknown",
        })
    }
}

/// A value, how it is known, and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact<T> {
    /// The value by which the fake host behaves.
    pub value: T,
    /// How the value is known.
    pub mark: Mark,
    /// The source: a recording, a document, a reason.
    pub source: String,
    /// The mode in which the value was not examined, if it was observed in the other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_in: Option<Mode>,
    /// The profile whose file states it: this one, or one that it extends.
    #[serde(skip)]
    pub stated_by: String,
}

impl<T> Fact<T> {
    /// Whether the value is known for this mode.
    pub fn is_known_in(&self, mode: Mode) -> bool {
        self.mark != Mark::Unknown && self.unknown_in != Some(mode)
    }
}

impl<T> Deref for Fact<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> Fact<T> {
    /// The line of the fact in the evidence table.
    pub(crate) fn evidence(&self, section: &str, field: &str, meaning: &'static str) -> Evidence {
        Evidence {
            name: format!("{section}.{field}"),
            meaning: meaning.trim_start(),
            value: serde_json::to_value(&self.value).unwrap_or_default(),
            mark: self.mark,
            unknown_in: self.unknown_in,
            source: self.source.clone(),
            stated_by: self.stated_by.clone(),
        }
    }
}

/// One line of `hostcheck hosts NAME`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// `section.field`.
    pub name: String,
    /// The meaning of the fact, in a sentence.
    #[serde(skip)]
    pub meaning: &'static str,
    /// The value as JSON.
    pub value: serde_json::Value,
    /// How the fact is known.
    pub mark: Mark,
    /// The mode in which it is not known although it is in the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_in: Option<Mode>,
    /// The source.
    pub source: String,
    /// The profile whose file states it.
    pub stated_by: String,
}

impl Evidence {
    /// Whether the fact was never examined.
    pub fn is_unknown(&self) -> bool {
        self.mark == Mark::Unknown
    }
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

impl Mode {
    /// The value of a fact for this mode.
    pub fn of<T>(self, fact: &PerMode<T>) -> &T {
        match self {
            Self::Tui => &fact.tui,
            Self::Print => &fact.print,
        }
    }
}

/// Declares a section twice: complete, as the machine reads it, and as a patch, as a file states it.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        $section:ident, $patch:ident {
            $( $(#[doc = $meaning:literal])* $field:ident: $kind:ty, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $section {
            $( $(#[doc = $meaning])* pub $field: Fact<$kind>, )*
        }

        $(#[$meta])*
        ///
        /// A file states only how it differs from the profile that it extends.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $patch {
            $(
                $(#[doc = $meaning])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<Fact<$kind>>,
            )*
        }

        impl $patch {
            /// This patch, completed with the facts of the parent.
            pub(crate) fn over(self, parent: Self) -> Self {
                Self { $( $field: self.$field.or(parent.$field), )* }
            }

            /// Records in every fact which profile states it.
            pub(crate) fn stamp(&mut self, id: &str) {
                $( if let Some(fact) = &mut self.$field { id.clone_into(&mut fact.stated_by); } )*
            }

            /// The complete section, or adds the names of the missing facts.
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
            /// Marks every fact as unknown that another profile states.
            pub(crate) fn forget_inherited(&mut self, id: &str) {
                $( if self.$field.stated_by != id { self.$field.mark = crate::Mark::Unknown; } )*
            }

            /// Appends one line for each fact.
            pub(crate) fn evidence(&self, section: &str, lines: &mut Vec<Evidence>) {
                $( lines.push(self.$field.evidence(section, stringify!($field), concat!($($meaning),*))); )*
            }
        }
    };
}

pub(crate) use facts;

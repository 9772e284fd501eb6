//! Makes every report from hostcheck's event stream alone; the same events give the same bytes.
//!
//! ```text
//! events.jsonl ── stream (is it valid?) ── model (what does it say?) ──┬─ terminal
//!                                                                      ├─ html      report.html
//!                                                                      ├─ markdown  report.md, summary.md
//!                  baseline.json ── known, new, stale ──┐              ├─ json      report.json
//!                  history.jsonl ── trend ──────────────┴─ beside it   ├─ junit     junit.xml
//!                                                                      ├─ sarif     report.sarif
//!                                                                      ├─ badge     badge.svg, badge.json
//!                                                                      └─ trace     one cell's virtual time
//! ```
//!
//! No module here reads a clock, the environment or a path of the machine. Any event may contain a person's
//! text, so every output passes its texts through [`text`] first. Every cut is shown with the amount that was
//! left out.

pub mod badge;
pub mod baseline;
mod counts;
pub mod diff;
pub mod event;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod merge;
pub mod model;
pub mod sarif;
pub mod server_page;
pub mod state;
pub mod stream;
pub mod terminal;
pub mod text;
pub mod trace;
pub mod versus;
mod wire;
mod write;

pub use badge::{badge_json, badge_svg};
pub use baseline::{Baseline, Gate};
pub use history::{Release, Trend};
pub use html::html;
pub use json::{baseline_schema, event_schema, json, release_schema, report_schema};
pub use junit::junit;
pub use markdown::{markdown, pull_request};
pub use merge::{MergeError, merge};
pub use model::Report;
pub use sarif::sarif;
pub use server_page::{HostVerdict, Mend, ServerPage, Works};
pub use stream::{InvalidStream, Stream, StreamError};
pub use terminal::{Style, overview, terminal};
pub use trace::trace;
pub use versus::Versus;
pub use write::{FILES, WriteError, write_all};

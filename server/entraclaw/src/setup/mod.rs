//! Connects a host: which files get which content, and how each file looks with and without it.
//!
//! It is pure: texts come in, texts go out. It must never read or write a file, nor change a person's text beyond its plan.

mod addition;
mod answers;
mod approval;
mod asked;
mod block;
mod content;
mod diff;
mod idle;
mod json;
mod kept;
mod names;
mod receipt;
mod recipe;
mod request;
mod runbook;
mod skill;
mod table;

#[cfg(test)]
mod tests;

pub use addition::{Addition, Additions, adds, content_adds, sets_with};
pub use answers::{ANSWERS, AnswersRow, FirstAnswer, first_answer, lets_answer, told as told_of_answers};
pub use approval::{ALLOW_ANSWERS, APPROVAL_EVENT, Approval};
pub use content::{Content, Edit, Op, Path, Problem};
pub use diff::unified;
pub use idle::{WaysIn, not_woken, told_of_idle};
pub use receipt::{Found, Outcome, Receipt, digest, fresh, with, without};
pub use recipe::{FileRecipe, Recipe, recipe};
pub use request::{Carrier, Host, LeftOut, Os, Places, Request, Scope};
pub use runbook::runbook;

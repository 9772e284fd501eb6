//! What is said of a task that is worked on, between the sentences about its tools. A screen that hears of each piece says
//! the same before it asks again.

/// While the facts of the model are read.
pub const LOOKING: &str = "Looking at the model";
/// Between a question and the first word of its answer.
pub const ASKING: &str = "Waiting for the model's first word";
/// While an answer comes.
pub const WRITING: &str = "Writing the answer";
/// While a tool call waits for a person.
pub const APPROVING: &str = "Waiting for a person's approval";

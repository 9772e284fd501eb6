//! Fits a question into the context of the model, by a rule that the caller is told.
//!
//! What is oldest goes first: messages of the conversation, then files of the caller in the order in which they were given,
//! then results of tools. The request itself, and what the model has said for it, always stay. It must never cut anything
//! without saying so.

use std::fmt::Write as _;

/// Bytes of a token, where the server counts none before it is asked.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens that a turn takes beside its text.
const TOKENS_PER_TURN: u64 = 8;
/// The part of a context that an answer may take, as its divisor.
const ANSWER_PART: u64 = 4;

/// Tokens of a text, estimated.
pub(super) fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN) + TOKENS_PER_TURN
}

/// The longest answer, in tokens, in a context of this size.
pub(super) fn answer_tokens(context: Option<u64>, most: u32) -> u32 {
    let part = context.map_or(u64::from(most), |context| context / ANSWER_PART);
    u32::try_from(part).unwrap_or(most).clamp(1, most.max(1))
}

/// A part of the question that may be left out, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A message of the conversation.
    Message,
    /// A file of the caller.
    File(String),
    /// A result of a tool.
    Result,
}

/// What was left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LeftOut {
    pub(super) messages: usize,
    pub(super) files: Vec<String>,
    pub(super) results: usize,
}

impl LeftOut {
    /// A sentence for the caller; `None` if nothing was left out.
    pub(super) fn says(&self, context: u64) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        let mut parts = Vec::new();
        match self.messages {
            0 => {}
            1 => parts.push("1 older message".to_owned()),
            count => parts.push(format!("{count} older messages")),
        }
        if !self.files.is_empty() {
            let mut files = String::from("the files ");
            let _ = write!(files, "{}", self.files.join(", "));
            parts.push(files);
        }
        match self.results {
            0 => {}
            1 => parts.push("1 older result of a tool".to_owned()),
            count => parts.push(format!("{count} older results of tools")),
        }
        let what = parts.join(" and ");
        Some(format!("left out, for the model has a context of {context} tokens: {what}"))
    }
}

/// Decides for each part, given in the order in which they go, whether it stays. `fixed` is what always stays, in tokens.
pub(super) fn fit(parts: &[(Part, usize)], fixed: u64, budget: Option<u64>) -> (Vec<bool>, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut stays = vec![true; parts.len()];
    let Some(budget) = budget else { return (stays, left_out) };
    let mut total = fixed + parts.iter().map(|(_, bytes)| tokens(*bytes)).sum::<u64>();
    for (at, (part, bytes)) in parts.iter().enumerate() {
        if total <= budget {
            break;
        }
        total = total.saturating_sub(tokens(*bytes));
        stays[at] = false;
        match part {
            Part::Message => left_out.messages += 1,
            Part::File(path) => left_out.files.push(path.clone()),
            Part::Result => left_out.results += 1,
        }
    }
    (stays, left_out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_stays_fits_or_nothing_more_can_go(
            sizes in prop::collection::vec(0_usize..5_000, 0..40), fixed in 0_u64..2_000, budget in 0_u64..8_000
        ) {
            let parts: Vec<(Part, usize)> = sizes.iter().map(|size| (Part::Message, *size)).collect();
            let (stays, left_out) = fit(&parts, fixed, Some(budget));
            let of = |at: usize| tokens(sizes[at]);
            let total: u64 = fixed + (0..sizes.len()).filter(|at| stays[*at]).map(of).sum::<u64>();
            let gone = stays.iter().filter(|stays| !**stays).count();
            prop_assert_eq!(gone, left_out.messages);
            prop_assert!(total <= budget || gone == sizes.len());
            // The oldest go first, and no more than must.
            prop_assert!(stays.iter().skip(gone).all(|stays| *stays));
            if gone > 0 {
                prop_assert!(total + of(gone - 1) > budget);
            }
        }
    }

    #[test]
    fn what_was_left_out_is_said() {
        let parts = [(Part::Message, 400), (Part::File("a.rs".to_owned()), 400), (Part::Result, 400)];
        let (stays, left_out) = fit(&parts, 10, Some(120));
        assert_eq!(stays, [false, false, true]);
        let says = left_out.says(128).unwrap();
        assert_eq!(
            says,
            "left out, for the model has a context of 128 tokens: 1 older message and the files a.rs"
        );
        let says = |messages, results| {
            let files = Vec::new();
            LeftOut { messages, files, results }.says(9).unwrap()
        };
        assert!(says(0, 1).ends_with(" tokens: 1 older result of a tool"), "{}", says(0, 1));
        assert!(
            says(2, 3).ends_with(" tokens: 2 older messages and 3 older results of tools"),
            "{}",
            says(2, 3)
        );
        assert_eq!(fit(&parts, 10, None).1.says(1), None);
    }

    #[test]
    fn an_answer_takes_at_most_a_quarter_of_the_context() {
        assert_eq!(answer_tokens(None, 4_096), 4_096);
        assert_eq!(answer_tokens(Some(4_096), 4_096), 1_024);
        assert_eq!(answer_tokens(Some(0), 4_096), 1);
    }
}

//! What a question expects its answer to have: a number, a name, a time; and the word that it asks for.
//!
//! It must never decide alone: it only tells apart sentences that have the same words.

/// What an answer is expected to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// A number.
    Number,
    /// The name of a person.
    Name,
    /// A day, a date or an hour.
    Time,
}

const ASKING: [&str; 9] = ["how", "what", "when", "where", "which", "who", "whom", "whose", "why"];
/// What is asked for by a number.
const NUMBERED: [&str; 8] = ["budget", "limit", "number", "port", "price", "size", "timeout", "version"];
/// Words of times, without those that are numbers.
const TIMES: [&str; 35] = [
    "afternoon",
    "april",
    "august",
    "christmas",
    "day",
    "december",
    "easter",
    "end",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "march",
    "may",
    "monday",
    "month",
    "morning",
    "night",
    "noon",
    "november",
    "october",
    "quarter",
    "saturday",
    "september",
    "sprint",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tuesday",
    "wednesday",
    "week",
    "yesterday",
];

impl Hint {
    /// Whether a query asks, and is not only words to look for.
    pub(super) fn is_question(query: &str) -> bool {
        let mut words = query.split_whitespace().take(3).map(str::to_lowercase);
        query.trim_end().ends_with('?') || words.any(|word| ASKING.contains(&&*word))
    }

    /// What the answer to a question of these words is expected to have.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let at = words.iter().position(|word| ASKING.contains(&word.as_str()))?;
        let next = words.get(at + 1).map_or("", String::as_str);
        match words[at].as_str() {
            "how" if ["many", "much", "long", "often", "old", "large", "big"].contains(&next) => {
                Some(Self::Number)
            }
            "who" | "whom" | "whose" => Some(Self::Name),
            "when" => Some(Self::Time),
            "what" | "which" => {
                let focus = Self::focus(words)?;
                NUMBERED.contains(&focus.as_str()).then_some(Self::Number)
            }
            _ => None,
        }
    }

    /// The word for what is asked: `port` of `which port` and of `what is the port`.
    pub(super) fn focus(words: &[String]) -> Option<String> {
        let at = words.iter().position(|word| ASKING.contains(&word.as_str()))?;
        let mut rest = words[at + 1..].iter().map(String::as_str);
        let is_passed =
            |word: &&str| ["is", "was", "are", "were", "the", "our", "many", "much"].contains(word);
        let word = match words[at].as_str() {
            "what" | "which" | "whose" => rest.find(|word| !is_passed(word))?,
            "how" if words.get(at + 1).is_some_and(|next| next == "many" || next == "much") => {
                rest.find(|word| !is_passed(word))?
            }
            _ => return None,
        };
        (!super::grammar::is_of_grammar(word)).then(|| word.to_owned())
    }
}

/// Whether a sentence has what is expected.
#[derive(Debug, Default)]
pub(super) struct Seen {
    is_begun: bool,
    pub(super) is_met: bool,
}

impl Seen {
    /// Looks at a word of a sentence. One of the query itself is no answer.
    pub(super) fn look(&mut self, hint: Hint, token: &str, is_asked: bool) {
        let begins_with = |is: fn(&char) -> bool| token.chars().next().is_some_and(|first| is(&first));
        self.is_met |= !is_asked
            && match hint {
                Hint::Number => begins_with(char::is_ascii_digit),
                Hint::Name => {
                    begins_with(|first| first.is_uppercase()) && token.chars().count() > 1 && self.is_begun
                }
                Hint::Time => {
                    begins_with(char::is_ascii_digit) || TIMES.binary_search(&&*token.to_lowercase()).is_ok()
                }
            };
        self.is_begun = true;
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::schema::words;
    use super::*;

    #[test]
    fn a_question_expects_something_and_asks_for_a_word() {
        let of = |question: &str| (Hint::of(&words(question)), Hint::focus(&words(question)));
        assert_eq!(of("On which port does it run?"), (Some(Hint::Number), Some("port".to_owned())));
        assert_eq!(of("how many euros does it cost"), (Some(Hint::Number), Some("euros".to_owned())));
        assert_eq!(of("What is the library of the parser?"), (None, Some("library".to_owned())));
        assert_eq!(of("Who wrote it?"), (Some(Hint::Name), None));
        assert_eq!(of("When is it finished?"), (Some(Hint::Time), None));
        assert_eq!(of("what did we decide"), (None, None));
        assert!(Hint::is_question("why did we drop redis") && !Hint::is_question("drop redis cache"));
    }

    #[test]
    fn what_is_expected_is_seen() {
        let is_met = |hint, sentence: &str| {
            let mut seen = Seen::default();
            sentence.split(' ').for_each(|token| seen.look(hint, token, token == "port"));
            seen.is_met
        };
        assert!(is_met(Hint::Number, "it listens on port 8443") && !is_met(Hint::Number, "it has a port"));
        assert!(is_met(Hint::Name, "ask Alice") && !is_met(Hint::Name, "Ask somebody"));
        assert!(is_met(Hint::Time, "by Friday") && !is_met(Hint::Time, "soon"));
    }
    #[rstest]
    #[case("drop the cache?", true)]
    #[case("drop the cache? ", true)]
    #[case("how it works", true)]
    #[case("and WHY so", true)]
    #[case("tell me which one", true)]
    #[case("do tell me which one", false)]
    #[case("somehow", false)]
    #[case("", false)]
    fn a_query_asks_by_its_sign_or_by_a_word_at_its_beginning(#[case] query: &str, #[case] asks: bool) {
        assert_eq!(Hint::is_question(query), asks);
    }

    #[rstest]
    #[case("how many files", Some(Hint::Number), Some("files"))]
    #[case("how much memory", Some(Hint::Number), Some("memory"))]
    #[case("how large is it", Some(Hint::Number), None)]
    #[case("how often is it read", Some(Hint::Number), None)]
    #[case("how does it work", None, None)]
    #[case("how", None, None)]
    #[case("whom did alice ask", Some(Hint::Name), None)]
    #[case("whose file is it", Some(Hint::Name), Some("file"))]
    #[case("what was our budget", Some(Hint::Number), Some("budget"))]
    #[case("which versions", None, Some("versions"))]
    #[case("which of them", None, None)]
    #[case("what", None, None)]
    #[case("where is the port", None, None)]
    #[case("why is the port open", None, None)]
    #[case("tell me when", Some(Hint::Time), None)]
    #[case("the port", None, None)]
    fn the_word_that_asks_says_what_is_expected(
        #[case] question: &str,
        #[case] hint: Option<Hint>,
        #[case] focus: Option<&str>,
    ) {
        let words = words(question);
        assert_eq!((Hint::of(&words), Hint::focus(&words).as_deref()), (hint, focus));
    }

    #[rstest]
    #[case(Hint::Number, "8443", true)]
    #[case(Hint::Number, "x8", false)]
    #[case(Hint::Name, "Alice", false)]
    #[case(Hint::Name, "so Alice", true)]
    #[case(Hint::Name, "so alice", false)]
    #[case(Hint::Name, "so A", false)]
    #[case(Hint::Time, "2026-11-26", true)]
    #[case(Hint::Time, "FRIDAY", true)]
    #[case(Hint::Time, "afternoon", true)]
    #[case(Hint::Time, "yesterday", true)]
    #[case(Hint::Time, "Alice", false)]
    fn a_sentence_has_what_is_expected_unless_it_was_asked(
        #[case] hint: Hint,
        #[case] sentence: &str,
        #[case] is_met: bool,
    ) {
        for is_asked in [false, true] {
            let mut seen = Seen::default();
            sentence.split(' ').for_each(|token| seen.look(hint, token, is_asked));
            assert_eq!(seen.is_met, is_met && !is_asked);
        }
        let mut seen = Seen::default();
        sentence.split(' ').for_each(|token| seen.look(hint, token, false));
        seen.look(hint, "nothing", false);
        assert_eq!(seen.is_met, is_met, "what is met stays met");
    }
}

//! Reads a command line by a table of flags, as the argument parsers of these CLIs do. It says what is wrong; each CLI
//! has its own words for it.

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// One value, which may not begin with a dash unless it is joined by `=`.
    One,
    /// One value of these.
    Of(&'static [&'static str]),
    /// A value or none.
    Maybe,
    /// Values up to the next flag, or none.
    Many,
}

/// A flag that a CLI knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Its long name with the dashes, or a short one if it has no other.
    pub name: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// What follows it.
    pub takes: Takes,
    /// How its value is called in messages.
    pub value: &'static str,
}

impl Flag {
    /// A flag without a value.
    pub(crate) const fn switch(name: &'static str) -> Self {
        Self { name, short: None, takes: Takes::Nothing, value: "" }
    }

    /// A flag with one value.
    pub(crate) const fn one(name: &'static str, value: &'static str) -> Self {
        Self { name, short: None, takes: Takes::One, value }
    }

    /// A flag with a value of a few.
    pub(crate) const fn of(name: &'static str, value: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, short: None, takes: Takes::Of(values), value }
    }

    /// A flag with a value or none.
    pub(crate) const fn maybe(name: &'static str, value: &'static str) -> Self {
        Self { name, short: None, takes: Takes::Maybe, value }
    }

    /// A flag with values up to the next flag.
    pub(crate) const fn many(name: &'static str, value: &'static str) -> Self {
        Self { name, short: None, takes: Takes::Many, value }
    }

    /// The same with a letter.
    pub(crate) const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }
}

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlagError {
    /// No flag has that name.
    Unknown(String),
    /// The flag needs a value.
    NoValue(Flag),
    /// The flag does not take that value.
    BadValue(Flag, String),
}

/// A command line that was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    given: Vec<(&'static str, Option<String>)>,
    /// What is no flag.
    pub words: Vec<String>,
    /// How many of the words stand before `--`.
    pub plain_words: usize,
}

impl Parsed {
    /// Whether a flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The last value of a flag.
    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// All values of a flag in their order.
    pub(crate) fn all<'parsed>(&'parsed self, name: &str) -> impl Iterator<Item = &'parsed str> {
        self.given.iter().filter(move |(given, _)| *given == name).filter_map(|(_, value)| value.as_deref())
    }

    /// All values of a flag that takes lists, separated by commas.
    pub(crate) fn listed(&self, name: &str) -> Vec<String> {
        let values = self.all(name).flat_map(|value| value.split(','));
        values.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }
}

/// The flags with what they take. The programs' own texts have a sentence for each too.
pub(crate) fn help(usage: &str, flags: &[Flag]) -> String {
    let lines = flags.iter().map(|flag| {
        let letter = flag.short.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let name = if flag.name.starts_with("--") { flag.name } else { "" };
        format!("  {letter}{name} {}", flag.value).trim_end().to_owned() + "\n"
    });
    let lines: String = lines.collect();
    format!("Usage: {usage}\n\nOptions:\n{lines}")
}

/// Reads a command line.
pub(crate) fn parse(flags: &[Flag], argv: &[String]) -> Result<Parsed, FlagError> {
    read(flags, argv, false)
}

/// Reads a command line as clap does: where a value is missing before what looks like a flag and is none, that is the
/// mistake.
pub(crate) fn parse_like_clap(flags: &[Flag], argv: &[String]) -> Result<Parsed, FlagError> {
    read(flags, argv, true)
}

fn read(flags: &[Flag], argv: &[String], like_clap: bool) -> Result<Parsed, FlagError> {
    let mut parsed = Parsed::default();
    let mut rest = argv.iter().peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            parsed.words.extend(rest.cloned());
            break;
        }
        if argument == "-" || !argument.starts_with('-') {
            parsed.words.push(argument.clone());
            parsed.plain_words += 1;
            continue;
        }
        let mut pieces = argument.as_str();
        // Letters may stand together; the last one may have its value attached.
        loop {
            let (flag, joined, more) = find(flags, pieces)?;
            match (flag.takes, joined) {
                (Takes::Nothing, _) => parsed.given.push((flag.name, None)),
                (_, Some(value)) => take(&mut parsed, flag, value)?,
                (Takes::Maybe, None) => {
                    let value = rest.next_if(|next| !next.starts_with('-'));
                    parsed.given.push((flag.name, value.cloned()));
                }
                (Takes::Many, None) => {
                    parsed.given.push((flag.name, None));
                    while let Some(value) = rest.next_if(|next| !next.starts_with('-')) {
                        parsed.given.push((flag.name, Some(value.clone())));
                    }
                }
                (Takes::One | Takes::Of(_), None) => {
                    let value = rest.next_if(|next| *next == "-" || !next.starts_with('-'));
                    if value.is_none()
                        && like_clap
                        && let Some(next) = rest.peek()
                    {
                        find(flags, next)?;
                    }
                    take(&mut parsed, flag, value.ok_or(FlagError::NoValue(flag))?)?;
                }
            }
            match more {
                Some(letters) => pieces = letters,
                None => break,
            }
        }
    }
    Ok(parsed)
}

fn take(parsed: &mut Parsed, flag: Flag, value: &str) -> Result<(), FlagError> {
    match flag.takes {
        Takes::Of(values) if !values.contains(&value) => Err(FlagError::BadValue(flag, value.to_owned())),
        _ => {
            parsed.given.push((flag.name, Some(value.to_owned())));
            Ok(())
        }
    }
}

/// A flag, the value that is joined to it, and the letters that stand after it.
type Found<'argument> = (Flag, Option<&'argument str>, Option<&'argument str>);

fn find<'argument>(flags: &[Flag], argument: &'argument str) -> Result<Found<'argument>, FlagError> {
    let unknown = || FlagError::Unknown(argument.to_owned());
    if argument.starts_with("--") {
        let (name, joined) = argument.split_once('=').map_or((argument, None), |(name, v)| (name, Some(v)));
        let flag = flags.iter().find(|flag| flag.name == name).ok_or_else(unknown)?;
        return Ok((*flag, joined, None));
    }
    let letters = argument.strip_prefix('-').unwrap_or(argument);
    let letter = letters.chars().next().ok_or_else(unknown)?;
    let flag = flags.iter().find(|flag| flag.short == Some(letter)).ok_or_else(unknown)?;
    let after = &letters[letter.len_utf8()..];
    if after.is_empty() {
        Ok((*flag, None, None))
    } else if flag.takes == Takes::Nothing {
        Ok((*flag, None, Some(after)))
    } else {
        Ok((*flag, Some(after.strip_prefix('=').unwrap_or(after)), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const FLAGS: &[Flag] = &[
        Flag::one("--prompt", "<text>").short('p'),
        Flag::switch("--silent").short('s'),
        Flag::of("--form", "<form>", &["text", "json"]),
        Flag::maybe("--resume", "<id>"),
        Flag::many("--deny", "<tools>"),
    ];

    fn words(line: &str) -> Vec<String> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[rstest]
    #[case("-p hi", Some("hi"))]
    #[case("-phi", Some("hi"))]
    #[case("-p=hi", Some("hi"))]
    #[case("-sp hi", Some("hi"))]
    #[case("--prompt=--help", Some("--help"))]
    #[case("--prompt=", Some(""))]
    #[case("--prompt a --prompt b", Some("b"))]
    #[case("-p -", Some("-"))]
    #[case("-s", None)]
    fn a_value_is_found_in_every_form(#[case] line: &str, #[case] prompt: Option<&str>) {
        assert_eq!(parse(FLAGS, &words(line)).unwrap().last("--prompt"), prompt);
    }

    #[rstest]
    #[case("-p --silent", FlagError::NoValue(FLAGS[0]))]
    #[case("-p --help", FlagError::Unknown("--help".to_owned()))]
    #[case("--prompt", FlagError::NoValue(FLAGS[0]))]
    #[case("--bogus=1", FlagError::Unknown("--bogus=1".to_owned()))]
    #[case("-sx", FlagError::Unknown("x".to_owned()))]
    #[case("--form xml", FlagError::BadValue(FLAGS[2], "xml".to_owned()))]
    fn what_is_wrong_is_told(#[case] line: &str, #[case] wrong: FlagError) {
        assert_eq!(parse_like_clap(FLAGS, &words(line)), Err(wrong));
    }

    #[test]
    fn a_list_ends_at_the_next_flag() {
        let parsed = parse(FLAGS, &words("--deny a,b c -s word --resume --deny=d -- -x")).unwrap();
        assert_eq!(parsed.listed("--deny"), ["a", "b", "c", "d"]);
        assert_eq!(parsed.words, ["word", "-x"]);
        assert!(parsed.has("--resume") && parsed.last("--resume").is_none());
    }
}

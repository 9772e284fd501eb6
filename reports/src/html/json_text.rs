//! Formats a JSON line for reading. It works on the characters, so that numbers, escapes and repeated keys
//! stay unchanged; a cut or broken line is formatted as far as possible.

/// Widest container on one line, in columns.
const WIDTH: usize = 100;
/// Depth of formatting; deeper containers stay on one line.
const DEPTH_MAX: usize = 40;

#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Open(char),
    Close(char),
    Comma,
    Colon,
    /// A string with its quotes, a number, a word, or any unexpected text.
    Atom(&'a str),
}

/// The same JSON with line breaks and indentation.
pub(super) fn lay_out(line: &str) -> String {
    let tokens = tokens(line);
    let widths = widths(&tokens);
    let mut text = String::with_capacity(line.len() * 5 / 4);
    // For each open container, whether it is broken over several lines.
    let mut open: Vec<bool> = Vec::new();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match *token {
            Token::Open(bracket) => {
                text.push(bracket);
                let broken = widths[index] + depth * 2 > WIDTH && depth < DEPTH_MAX;
                open.push(broken);
                if broken {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            Token::Close(bracket) => {
                if open.pop().unwrap_or(false) {
                    depth -= 1;
                    break_line(&mut text, depth);
                }
                text.push(bracket);
            }
            Token::Comma => {
                text.push(',');
                match open.last() {
                    Some(true) => break_line(&mut text, depth),
                    _ => text.push(' '),
                }
            }
            Token::Colon => text.push_str(": "),
            Token::Atom(atom) => text.push_str(atom),
        }
    }
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', depth * 2));
}

/// For every opening bracket, the width of its container on one line; one that is never closed extends to the
/// end.
fn widths(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut widths = vec![0; tokens.len()];
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut column = 0;
    for (index, token) in tokens.iter().enumerate() {
        let before = column;
        column += match token {
            Token::Open(_) | Token::Close(_) => 1,
            Token::Comma | Token::Colon => 2,
            Token::Atom(atom) => atom.len(),
        };
        match token {
            Token::Open(_) => starts.push((index, before)),
            Token::Close(_) => {
                if let Some((start, at)) = starts.pop() {
                    widths[start] = column - at;
                }
            }
            _ => {}
        }
    }
    for (start, at) in starts {
        widths[start] = (column - at).max(WIDTH + 1);
    }
    widths
}

fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '{' | '[' => (Some(Token::Open(first)), 1),
            '}' | ']' => (Some(Token::Close(first)), 1),
            ',' => (Some(Token::Comma), 1),
            ':' => (Some(Token::Colon), 1),
            ' ' | '\t' | '\n' | '\r' => (None, 1),
            '"' => {
                let length = string_length(rest);
                (Some(Token::Atom(&rest[..length])), length)
            }
            _ => {
                let end =
                    |c: char| matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"' | ' ' | '\t' | '\n' | '\r');
                let length = rest.find(end).unwrap_or(rest.len());
                (Some(Token::Atom(&rest[..length])), length)
            }
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// Bytes of the string at the start of `text`, quotes included; all of `text` if the string does not end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::lay_out;

    #[test]
    fn short_json_stays_on_one_line() {
        assert_eq!(lay_out(r#"{"a":1,"b":[1,2.50]}"#), r#"{"a": 1, "b": [1, 2.50]}"#);
    }

    #[test]
    fn long_json_is_broken_where_it_is_long() {
        let long = "x".repeat(100);
        let shown = lay_out(&format!(r#"{{"id":7,"params":{{"text":"{long}","n":[1]}}}}"#));
        assert_eq!(
            shown,
            format!(
                "{{\n  \"id\": 7,\n  \"params\": {{\n    \"text\": \"{long}\",\n    \"n\": [1]\n  }}\n}}"
            )
        );
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"{"a":"b, c: {\"d\"} \\"}"#;
        assert_eq!(lay_out(text), r#"{"a": "b, c: {\"d\"} \\"}"#);
    }

    #[test]
    fn deep_nesting_is_bounded() {
        let shown = lay_out(&"[".repeat(100_000));
        assert!(shown.len() < 200_000, "{}", shown.len());
    }

    proptest! {
        #[test]
        fn only_white_space_is_ever_added(text in ".{0,300}") {
            let squeeze = |text: &str| text.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r')).collect::<String>();
            prop_assert_eq!(squeeze(&lay_out(&text)), squeeze(&text));
        }
    }
}

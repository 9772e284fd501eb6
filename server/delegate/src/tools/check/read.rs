//! Reads what checkers say.

use std::path::Path;

use serde_json::Value;

use crate::tools::outcome::slashes;

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The file, relative to the project where it lies in it.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: u64,
    /// What is wrong, on one line.
    pub(super) message: String,
}

/// The form in which a checker speaks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// A JSON object a line, of cargo and rustc.
    Cargo,
    /// `file(line,column): error TS1234: message`.
    Tsc,
    /// One JSON object with `generalDiagnostics`.
    Pyright,
    /// `file:line:column: message`, the column may be missing.
    Lines,
}

impl Form {
    /// All findings, each once.
    pub(super) fn read(self, stdout: &str, stderr: &str, folder: &Path) -> Vec<Finding> {
        let found = match self {
            Self::Cargo => stdout.lines().filter_map(cargo).collect(),
            Self::Pyright => pyright(stdout),
            Self::Tsc => stdout.lines().filter_map(tsc).collect(),
            Self::Lines => stdout.lines().chain(stderr.lines()).filter_map(line).collect::<Vec<_>>(),
        };
        let mut once: Vec<Finding> = Vec::new();
        for mut finding in found {
            let path = Path::new(finding.file.trim_start_matches("./"));
            finding.file = slashes(path.strip_prefix(folder).unwrap_or(path));
            if !once.contains(&finding) {
                once.push(finding);
            }
        }
        once
    }
}

fn cargo(line: &str) -> Option<Finding> {
    let line: Value = serde_json::from_str(line).ok()?;
    let message = line
        .get("message")
        .filter(|_| line.get("reason").is_some_and(|reason| reason == "compiler-message"))?;
    let spans = message.get("spans")?.as_array()?;
    let span = spans.iter().find(|span| span.get("is_primary").is_some_and(|is| is == true))?;
    let code = message
        .pointer("/code/code")
        .and_then(Value::as_str)
        .map(|code| format!("[{code}]"))
        .unwrap_or_default();
    Some(Finding {
        file: span.get("file_name")?.as_str()?.to_owned(),
        line: span.get("line_start")?.as_u64()?,
        message: one_line(&format!(
            "{}{code}: {}",
            message.get("level")?.as_str()?,
            message.get("message")?.as_str()?
        )),
    })
}

fn pyright(text: &str) -> Vec<Finding> {
    let whole: Value = serde_json::from_str(text).unwrap_or_default();
    let one = |finding: &Value| {
        Some(Finding {
            file: finding.get("file")?.as_str()?.to_owned(),
            line: finding.pointer("/range/start/line")?.as_u64()? + 1,
            message: one_line(&format!(
                "{}: {}",
                finding.get("severity")?.as_str()?,
                finding.get("message")?.as_str()?
            )),
        })
    };
    whole.get("generalDiagnostics").and_then(Value::as_array).into_iter().flatten().filter_map(one).collect()
}

fn tsc(line: &str) -> Option<Finding> {
    let (file, rest) = line.split_once('(')?;
    let (place, message) = rest.split_once("): ")?;
    let number = place.split(',').next()?.parse().ok()?;
    Some(Finding { file: file.to_owned(), line: number, message: one_line(message) })
}

fn line(line: &str) -> Option<Finding> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    // A drive letter is no file.
    let from = if line.as_bytes().get(1) == Some(&b':') { 2 } else { 0 };
    let colon = from + line.get(from..)?.find(':')?;
    let (file, rest) = (&line[..colon], &line[colon + 1..]);
    let (number, rest) = rest.split_once(':')?;
    let message = match rest.split_once(':') {
        Some((column, message)) if column.parse::<u64>().is_ok() => message,
        _ => rest,
    };
    Some(Finding {
        file: file.to_owned(),
        line: number.trim().parse().ok()?,
        message: one_line(message.trim()),
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: Form, text: &str) -> Vec<(String, u64, String)> {
        let found = form.read(text, "", Path::new("/project"));
        found.into_iter().map(|finding| (finding.file, finding.line, finding.message)).collect()
    }

    #[test]
    fn each_form_is_read() {
        let cargo = r#"{"reason":"compiler-message","message":{"level":"error","message":"mismatched types","code":{"code":"E0308"},"spans":[{"is_primary":true,"file_name":"src/a.rs","line_start":3}]}}"#;
        for (form, text, expected) in [
            (Form::Cargo, cargo, ("src/a.rs", 3, "error[E0308]: mismatched types")),
            (Form::Tsc, "src/a.ts(4,7): error TS2322: Type 'x'.", ("src/a.ts", 4, "error TS2322: Type 'x'.")),
            (
                Form::Pyright,
                r#"{"generalDiagnostics":[{"file":"/project/a.py","severity":"error","message":"x\n y","range":{"start":{"line":4}}}]}"#,
                ("a.py", 5, "error: x y"),
            ),
            (Form::Lines, "./a.go:5:2: unreachable code", ("a.go", 5, "unreachable code")),
            (Form::Lines, "vet: ./b.go:6:1: expected x: y", ("b.go", 6, "expected x: y")),
            (Form::Lines, "a.py:7:1: F401 unused", ("a.py", 7, "F401 unused")),
            (Form::Lines, "a.py:8: error: invalid syntax", ("a.py", 8, "error: invalid syntax")),
            (Form::Lines, r"C:\x\a.py:9:1: E1", ("C:/x/a.py", 9, "E1")),
        ] {
            let expected = (expected.0.to_owned(), expected.1, expected.2.to_owned());
            assert_eq!(read(form, text), [expected], "{text}");
        }
        assert_eq!(read(Form::Lines, "Found 2 errors.\n# package: x"), []);
    }
}

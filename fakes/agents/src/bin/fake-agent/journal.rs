//! What happened, one JSON object a line, in the file beside the program. Tests read it. It names environment variables
//! and never their values.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

/// The journal of one process.
pub(crate) struct Journal {
    file: PathBuf,
}

impl Journal {
    /// In this file.
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// The program was started.
    pub(crate) fn starts(&self, argv: &[String], environment: &BTreeMap<String, String>, folder: &str) {
        let names: Vec<_> = environment.keys().collect();
        self.write(json!({"event": "start", "argv": argv, "environment": names, "folder": folder}));
    }

    /// Stdin was read to its end.
    pub(crate) fn reads(&self, bytes: usize) {
        self.write(json!({"event": "stdin", "bytes": bytes}));
    }

    /// A process was started that hangs.
    pub(crate) fn child(&self, id: u32) {
        self.write(json!({"event": "child", "child": id}));
    }

    /// A signal came.
    pub(crate) fn signal(&self, name: &str) {
        self.write(json!({"event": "signal", "signal": name}));
    }

    /// It ends with a code.
    pub(crate) fn ends(&self, code: u8) {
        self.write(json!({"event": "end", "code": code}));
    }

    /// It is about to die of a signal.
    pub(crate) fn dies(&self, name: &str) {
        self.write(json!({"event": "die", "signal": name}));
    }

    /// A line. One write, so that lines of several processes stay whole.
    fn write(&self, mut line: Value) {
        line["pid"] = std::process::id().into();
        let file = OpenOptions::new().create(true).append(true).open(&self.file);
        if let Ok(mut file) = file {
            // A full disk must not change what the fake does.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

//! From a wire log to a scenario: the host's lines are written again, and what the server answered is expected again.
//! It expects the shape of an answer, not its values, unless it is told to; a line that is not whole is named, not made up.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use hostcheck::json_in_yaml::yaml;
use hostcheck::tap::read::{Flaw, Recorded, Seen, Wire};
use hostcheck::tap::{Dir, What};

/// Most steps of one scenario.
const STEPS_MAX: usize = 5_000;
/// Longest line that is written again, in bytes.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// A pause of the host shorter than this is none, in milliseconds.
const PAUSE_MS_MIN: f64 = 100.0;
/// Longest pause that is kept, in milliseconds: an hour.
const PAUSE_MS_MAX: f64 = 3_600_000.0;
/// An answer may take this much longer than twice the time it took, in milliseconds.
const ROOM_MS: f64 = 5_000.0;

/// The person's choices for the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The scenario's id, `area.what-it-shows`.
    pub id: String,
    /// Where the log comes from, for people.
    pub source: String,
    /// Expect the values of answers too.
    pub exact: bool,
}

/// A scenario as YAML, and what of the log is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The YAML.
    pub yaml: String,
    /// The parts that were left out, each with the reason.
    pub left_out: Vec<String>,
}

/// Writes the scenario of a log.
///
/// # Errors
/// When the log holds no line of a host, or too many.
pub fn write(log: &[Recorded], options: &Options) -> anyhow::Result<Written> {
    let mut writer =
        Writer { options, steps: Vec::new(), left_out: Vec::new(), links: BTreeMap::new(), last_ms: None };
    for entry in log {
        writer.entry(entry);
        anyhow::ensure!(
            writer.steps.len() <= STEPS_MAX,
            "line {}: more than {STEPS_MAX} steps; cut the log into parts",
            entry.number
        );
    }
    anyhow::ensure!(
        writer.steps.iter().any(|step| step.starts_with("expect: ")),
        "the log holds no line of a host that its server answered, so nothing could be expected"
    );
    Ok(writer.finish())
}

/// One server process of the log.
#[derive(Debug, Default)]
struct Link {
    /// Requests of the host that wait for their answer: method and time, by id as JSON.
    asked: BTreeMap<String, (String, f64)>,
    /// Requests of the server so far, by method.
    server_asked: BTreeMap<String, u32>,
    over: bool,
}

struct Writer<'a> {
    options: &'a Options,
    steps: Vec<String>,
    left_out: Vec<String>,
    links: BTreeMap<u64, Link>,
    last_ms: Option<(u64, f64)>,
}

impl Writer<'_> {
    fn entry(&mut self, entry: &Recorded) {
        match &entry.seen {
            Seen::Line(line) if line.dir == Dir::HostToServer => self.host_line(entry, line),
            Seen::Line(line) if line.dir == Dir::ServerToHost => self.server_line(entry, line),
            Seen::Event(Some(What::HostClosedStdin), _) => {
                if let Some(link) = self.links.get_mut(&entry.proc).filter(|link| !link.over) {
                    link.over = true;
                    self.steps.push(format!("host: {{exit: {}}}", session(entry.proc)));
                }
            }
            Seen::Line(_) | Seen::Start(_) | Seen::Event(..) | Seen::End(_) => return,
        }
        self.last_ms = Some((entry.proc, entry.ms));
    }

    fn host_line(&mut self, entry: &Recorded, line: &Wire) {
        let number = entry.number;
        if line.flaw == Some(Flaw::Cut) || line.bytes.len() > LINE_BYTES_MAX {
            self.left_out.push(format!("line {number}: the host's line is not whole, so it is not sent"));
            return;
        }
        let Ok(text) = std::str::from_utf8(&line.bytes) else {
            self.left_out.push(format!("line {number}: a scenario can't hold bytes that are no UTF-8"));
            return;
        };
        if line.flaw == Some(Flaw::Masked) {
            self.left_out.push(format!("line {number}: secrets are sent as ***"));
        }
        let more = !self.links.is_empty();
        self.links.entry(entry.proc).or_insert_with(|| {
            if more {
                self.steps.push(format!("host: {{start: {}}}", session(entry.proc)));
            }
            Link::default()
        });
        self.pause(entry);
        let message: Option<Value> = serde_json::from_str(text).ok();
        let written = message.as_ref().map(Value::to_string);
        let same = written.as_deref() == Some(text);
        let line = if same { text.to_owned() } else { Value::from(text).to_string() };
        let member = if same { "json" } else { "text" };
        self.steps.push(format!("raw: {{{member}: {}{}}}", yaml(&line), on(entry.proc)));
        let asked = message.as_ref().and_then(|message| {
            Some((message.get("id")?.to_string(), message.get("method")?.as_str()?.to_owned()))
        });
        if let (Some((id, method)), Some(link)) = (asked, self.links.get_mut(&entry.proc)) {
            link.asked.insert(id, (method, entry.ms));
        }
    }

    /// The host's pause before a line, which may be what the line is about.
    fn pause(&mut self, entry: &Recorded) {
        if let Some((proc, last_ms)) = self.last_ms
            && proc == entry.proc
        {
            let pause_ms = (entry.ms - last_ms).min(PAUSE_MS_MAX);
            if pause_ms >= PAUSE_MS_MIN {
                self.steps.push(format!("advance: {pause_ms:.0}ms"));
            }
        }
    }

    fn server_line(&mut self, entry: &Recorded, line: &Wire) {
        let Some(link) = self.links.get_mut(&entry.proc) else { return };
        // Of a line that was cut the id is mostly at its beginning.
        let message = line.message().or_else(|| beginning(&line.bytes));
        let Some(message) = message else {
            self.left_out.push(format!("line {}: the server's line can't be read", entry.number));
            return;
        };
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            if message.get("id").is_some() {
                let times = link.server_asked.entry(method.to_owned()).or_default();
                *times += 1;
                let method = yaml(&Value::from(method).to_string());
                self.steps.push(format!(
                    "expect: {{wire: {{by: server, method: {method}, at_least: {times}, within: 5s{}}}}}",
                    on(entry.proc)
                ));
            }
            return;
        }
        let Some(id) = message.get("id") else { return };
        let Some((method, asked_ms)) = link.asked.remove(&id.to_string()) else { return };
        let within_ms = (entry.ms - asked_ms).max(0.0) * 2.0 + ROOM_MS;
        let exact = self.options.exact && line.flaw.is_none();
        let has = if exact { whole(&message) } else { shape(&method, &message) };
        let contains = first_name(&method, &message)
            .map(|name| format!(", contains: {}", yaml(&Value::from(name).to_string())))
            .unwrap_or_default();
        self.steps.push(format!(
            "expect: {{reply: {{id: {}, has: {}{contains}, within: {within_ms:.0}ms{}}}}}",
            yaml(&id.to_string()),
            yaml(&has.to_string()),
            on(entry.proc)
        ));
    }

    fn finish(self) -> Written {
        let mut text = String::new();
        let quoted = |words: &str| yaml(&Value::from(words).to_string());
        let says = "The host's lines of the recording are answered as they were";
        // A string takes every write.
        let _ = write!(
            text,
            "# Made from a wire log by `simulation scenario`. It expects the shape of each answer; add values that must hold.\n\
             id: {}\ntitle: {}\nrequirement:\n  area: recorded\n  level: should\n  says: {says}\n  source: {}\n\
             hosts: generic@bare\nall_delivered: false\n",
            quoted(&self.options.id),
            quoted(&format!("Recorded from {}", self.options.source)),
            quoted(&self.options.source),
        );
        if self.links.len() > 1 {
            text.push_str("sessions:\n");
            for proc in self.links.keys().skip(1) {
                let _ = writeln!(text, "  {}: {{host: bare}}", session(*proc));
            }
        }
        text.push_str("steps:\n");
        let first = self.links.keys().next().copied().unwrap_or(1);
        let main = format!(": {}", session(first));
        for step in self.steps {
            // The first process is the main session, whatever its number is.
            let step = if step.starts_with("host: ") { step.replace(&main, ": main") } else { step };
            let step = step.replace(&on(first), "");
            let _ = writeln!(text, "  - {step}");
        }
        Written { yaml: text, left_out: self.left_out }
    }
}

fn session(proc: u64) -> String {
    format!("process-{proc}")
}

fn on(proc: u64) -> String {
    format!(", on: {}", session(proc))
}

/// The id and kind of a message that was cut.
fn beginning(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|value| value.get("cut").or_else(|| value.get("head"))?.as_str().map(str::to_owned))
        .unwrap_or_else(|| text.to_owned());
    let after = &text[text.find("\"id\":")? + 5..];
    let id = serde_json::Deserializer::from_str(after).into_iter::<Value>().next()?.ok()?;
    let failed = !text.contains("\"result\"") && text.contains("\"error\"");
    Some(if failed { json!({"id": id, "error": {}}) } else { json!({"id": id, "result": {}}) })
}

/// All that an answer holds.
fn whole(message: &Value) -> Value {
    let kept =
        message.as_object().into_iter().flatten().filter(|(name, _)| *name == "result" || *name == "error");
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The parts of an answer that hold for any server of the same kind.
fn shape(method: &str, message: &Value) -> Value {
    if let Some(error) = message.get("error") {
        return match error.get("code") {
            Some(code) => json!({"error": {"code": code}}),
            None => json!({"error": {}}),
        };
    }
    let result = &message["result"];
    let mut kept = Map::new();
    match method {
        "initialize" => {
            if let Some(version) = result.get("protocolVersion") {
                kept.insert("protocolVersion".to_owned(), version.clone());
            }
            if let Some(Value::Object(declared)) = result.get("capabilities") {
                let names = declared.keys().map(|name| (name.clone(), json!({}))).collect();
                kept.insert("capabilities".to_owned(), Value::Object(names));
            }
        }
        "tools/call" => {
            if let Some(error) = result.get("isError") {
                kept.insert("isError".to_owned(), error.clone());
            }
        }
        _ => {}
    }
    json!({"result": kept})
}

/// The first name of a list, which the same server has again.
fn first_name(method: &str, message: &Value) -> Option<String> {
    let member = method.strip_suffix("/list")?.rsplit('/').next()?;
    message.get("result")?.get(member)?.get(0)?.get("name")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostcheck::tap::read;

    fn made(log: &str, exact: bool) -> Written {
        let log = read::entries(log.as_bytes()).unwrap();
        let options = Options { id: "recorded.test".to_owned(), source: "wire.jsonl".to_owned(), exact };
        write(&log, &options).unwrap()
    }

    const LOG: &str = r#"{"kind":"start","format":1,"by":"record","at":"","proc":2,"line_bytes_max":9}
{"kind":"line","ms":1.0,"dir":"host>server","text":"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}"}
{"kind":"line","ms":3.0,"dir":"server>host","text":"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}},\"instructions\":\"x\"}}"}
{"kind":"line","ms":1004.4,"dir":"host>server","text":"{ \"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r"}
{"kind":"line","ms":1005.0,"dir":"server>host","text":"{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}"}
{"kind":"line","ms":1006.0,"dir":"host>server","base64":"/w=="}
{"kind":"line","ms":1007.0,"dir":"host>server","text":"\u0085 - {no"}
{"kind":"event","ms":1008.0,"what":"host_closed_stdin"}"#;

    #[test]
    fn a_log_becomes_a_scenario_that_the_loader_takes() {
        let made = made(LOG, false);
        let loaded = scenario::parse("made.yaml", &made.yaml).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.scenario.steps.len(), 7, "{}", made.yaml);
        for wanted in [
            r#"raw: {json: {"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}"#,
            r#"expect: {reply: {id: 0, has: {"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}, within: 5004ms}}"#,
            "advance: 1001ms",
            r#"text: "{ \"jsonrpc\""#,
            r#"expect: {wire: {by: server, method: "ping", at_least: 1, within: 5s}}"#,
            "host: {exit: main}",
        ] {
            assert!(made.yaml.contains(wanted), "{wanted} in {}", made.yaml);
        }
        assert_eq!(made.left_out, ["line 6: a scenario can't hold bytes that are no UTF-8"]);
    }

    #[test]
    fn values_are_expected_when_they_are_wanted() {
        assert!(made(LOG, true).yaml.contains(r#""instructions":"x""#));
    }

    #[test]
    fn a_log_without_a_host_is_refused() {
        let log =
            read::entries(&b"{\"ms\":0,\"proc\":1,\"dir\":\"event\",\"msg\":\"exit 0\"}\n"[..]).unwrap();
        let options = Options { id: "a.b".to_owned(), source: String::new(), exact: false };
        assert!(write(&log, &options).is_err());
    }
}

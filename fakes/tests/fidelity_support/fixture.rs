//! The project's own fixtures: short recordings, written anew, each for one fact that its first line names.
//! They run everywhere; a fixture that is missing is a failure.

use std::path::Path;

use fakes::host::HostOptions;
use libtest_mimic::{Failed, Trial};

use crate::recording;
use crate::replay;
use crate::situation::Situation;

/// Fixtures of each host that there must be at least.
const FIXTURES: [(&str, usize); 3] =
    [("claude-code@2.1.330", 6), ("copilot-cli@1.0.102", 6), ("copilot-cli@seed", 1)];

/// One trial a fixture.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (host, at_least) in FIXTURES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(host);
        let names = recording::names(&folder).unwrap_or_default();
        let found = names.len();
        trials.push(Trial::test(format!("{host}: at least {at_least} fixtures"), move || {
            (found >= at_least).then_some(()).ok_or_else(|| Failed::from(format!("only {found}")))
        }));
        for name in names {
            let path = folder.join(format!("{name}.jsonl"));
            trials.push(Trial::test(format!("{host}/{name} (own fixture)"), move || {
                compare(host, &path).map_err(Failed::from)
            }));
        }
    }
    trials
}

fn compare(host: &str, path: &Path) -> Result<(), String> {
    let text = recording::read_text(path)?;
    let settings = text.lines().find_map(|line| line.strip_prefix("#! "));
    let settings = settings.ok_or("a fixture names its settings in a line that begins with #!")?;
    let mut situation = Situation::plain("");
    let server_name = situation.options.server_name.clone();
    situation.options = serde_json::from_str::<HostOptions>(&with_mode(settings)?)
        .map_err(|error| format!("settings: {error}"))?;
    situation.options.server_name = server_name;
    let profile = fakes::host::profile(host).map_err(|error| error.to_string())?;
    replay::compare(&profile, &situation, &recording::parse(&text)?)
}

/// A fixture is headless unless it says otherwise.
fn with_mode(settings: &str) -> Result<String, String> {
    let mut settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(settings).map_err(|error| format!("settings: {error}"))?;
    settings.entry("mode").or_insert_with(|| "print".into());
    Ok(serde_json::Value::Object(settings).to_string())
}

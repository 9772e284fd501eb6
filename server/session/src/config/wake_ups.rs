//! The `[wake]` table: the wake-ups of hosts that may be used, and how often.
//! It must never switch on by default a wake-up that needs a flag or a setting of the host, nor read a password from the
//! file.

use std::collections::BTreeMap;
use std::path::Path;

use super::key;
use super::load::Loader;
use entraclaw_inbox::wake_up::WakeUpSettings;
use entraclaw_seams::secret::Secret;

/// Longest program name or path, in bytes.
const PATH_BYTES_MAX: usize = 4_096;

impl Loader {
    pub(super) fn wake_ups(&mut self, environment: &BTreeMap<String, String>) -> WakeUpSettings {
        let password = [key::OPENCODE_PASSWORD_VARIABLE, key::OPENCODE_PASSWORD_ALIAS]
            .iter()
            .find_map(|name| environment.get(*name).filter(|text| !text.is_empty()));
        let port = self.number(&key::WAKE_OPENCODE_PORT);
        WakeUpSettings {
            inbox_socket: self.truth(&key::WAKE_INBOX_SOCKET),
            waking_hook: self.truth(&key::WAKE_WAKING_HOOK),
            codex_queue: self.truth(&key::WAKE_CODEX_QUEUE),
            codex_command: self.codex_command(),
            opencode_port: u16::try_from(port).ok().filter(|port| *port > 0),
            opencode_password: password.map(Secret::new),
            qwen_peer: self.truth(&key::WAKE_QWEN_PEER),
            qwen_input_file: self.qwen_input_file(),
            min_interval: self.duration(&key::WAKE_MIN_INTERVAL),
            messages_per_hour: self.number(&key::WAKE_MESSAGES_PER_HOUR),
        }
    }

    fn codex_command(&mut self) -> String {
        let fix = "write the name of a program in PATH, or its absolute path, without arguments";
        let program = self.parsed(&key::WAKE_CODEX_COMMAND, "", fix, |text| {
            let program = text.trim();
            // A relative path would name another program in each working folder of the host.
            let is_a_place = program.contains(['/', '\\']);
            let is_fine = is_usable(program) && (!is_a_place || Path::new(program).is_absolute());
            is_fine.then(|| program.to_owned())
        });
        program.unwrap_or_else(|| key::WAKE_CODEX_COMMAND.default.to_owned())
    }

    fn qwen_input_file(&mut self) -> Option<String> {
        let fix = "write the absolute path that Qwen Code is given with --input-file";
        let is_fine = |path: &str| path.is_empty() || (is_usable(path) && Path::new(path).is_absolute());
        let path = |text: &str| Some(text.trim().to_owned()).filter(|path| is_fine(path));
        self.parsed(&key::WAKE_QWEN_INPUT_FILE, "", fix, path).filter(|path| !path.is_empty())
    }
}

fn is_usable(path: &str) -> bool {
    !path.is_empty() && path.len() <= PATH_BYTES_MAX && !path.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use crate::config::{Config, Secret, Sources};

    fn load(variables: &[(&str, &str)]) -> Result<Config, String> {
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::load(&Sources { environment, ..Sources::default() }).map_err(|errors| errors.to_string())
    }

    #[test]
    fn only_wake_ups_by_a_hosts_own_socket_are_on_by_default() {
        let wake_ups = Config::default().wake_ups;
        assert!(wake_ups.qwen_peer && wake_ups.waking_hook);
        assert!(
            wake_ups.inbox_socket
                && !load(&[("ENTRACLAW_WAKE_INBOX_SOCKET", "false")]).unwrap().wake_ups.inbox_socket
        );
        assert!(
            !wake_ups.codex_queue && wake_ups.opencode_port.is_none() && wake_ups.qwen_input_file.is_none()
        );
        assert_eq!((wake_ups.codex_command.as_str(), wake_ups.min_interval.as_secs()), ("codex", 10));
        assert_eq!(wake_ups.messages_per_hour, 360);
    }

    #[test]
    fn wake_ups_are_switched_on_by_the_environment_too() {
        let wake_ups = load(&[
            ("ENTRACLAW_WAKE_CODEX_QUEUE", "true"),
            ("ENTRACLAW_WAKE_QWEN_PEER", "false"),
            ("ENTRACLAW_WAKE_WAKING_HOOK", "false"),
            ("ENTRACLAW_WAKE_OPENCODE_PORT", "4096"),
            ("ENTRACLAW_WAKE_OPENCODE_PASSWORD", "hush"),
            ("ENTRACLAW_WAKE_MIN_INTERVAL", "1m"),
        ]);
        let wake_ups = wake_ups.unwrap().wake_ups;
        assert!(wake_ups.codex_queue && wake_ups.opencode_port == Some(4096) && !wake_ups.qwen_peer);
        assert!(!wake_ups.waking_hook);
        assert_eq!(wake_ups.min_interval, Duration::from_secs(60));
        assert_eq!(wake_ups.opencode_password.as_ref().map(Secret::expose), Some("hush"));
        assert!(!format!("{wake_ups:?}").contains("hush"));
    }

    #[test]
    fn the_older_table_and_variables_are_read_and_the_newer_win() {
        let text = "[wake]\nmin_interval = \"30s\"\n[doors]\nmin_interval = \"40s\"\ncodex_queue = true\n";
        let environment = [
            ("ENTRACLAW_DOORS_OPENCODE_PORT", "4096"),
            ("ENTRACLAW_DOORS_OPENCODE_PASSWORD", "hush"),
            ("ENTRACLAW_DOORS_MESSAGES_PER_HOUR", "2"),
            ("ENTRACLAW_WAKE_MESSAGES_PER_HOUR", "3"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let file = Some(("config.toml".to_owned(), text.to_owned()));
        let wake_ups = Config::load(&Sources { environment, file, ..Sources::default() }).unwrap().wake_ups;
        assert_eq!((wake_ups.min_interval, wake_ups.codex_queue), (Duration::from_secs(30), true));
        assert_eq!((wake_ups.opencode_port, wake_ups.messages_per_hour), (Some(4096), 3));
        assert_eq!(wake_ups.opencode_password.as_ref().map(Secret::expose), Some("hush"));
    }

    #[rstest]
    #[case("ENTRACLAW_WAKE_OPENCODE_PORT", "70000", "0 to 65535")]
    #[case("ENTRACLAW_WAKE_QWEN_INPUT_FILE", "qwen.jsonl", "absolute")]
    #[case("ENTRACLAW_WAKE_QWEN_INPUT_FILE", "/tmp/a\nb", "absolute")]
    #[case("ENTRACLAW_WAKE_CODEX_COMMAND", "./codex", "absolute")]
    #[case("ENTRACLAW_WAKE_CODEX_COMMAND", "tools/codex", "absolute")]
    #[case("ENTRACLAW_WAKE_MIN_INTERVAL", "0s", "1s to 1h")]
    #[case("ENTRACLAW_WAKE_MESSAGES_PER_HOUR", "0", "1 to 600")]
    #[case("ENTRACLAW_WAKE_CODEX_QUEUE", "yes", "true or false")]
    #[case("ENTRACLAW_WAKE_WHOLE_TEXT", "everybody", "\"nobody\"")]
    fn mistakes_are_explained(#[case] name: &str, #[case] value: &str, #[case] fix: &str) {
        let errors = load(&[(name, value)]).unwrap_err();
        assert!(errors.contains(name) && errors.contains(fix), "{errors}");
    }

    #[test]
    fn the_password_is_never_in_the_file() {
        let text = "[wake]\nopencode_port = 4096\nopencode_password = \"hush\"\n".to_owned();
        let file = Some(("config.toml".to_owned(), text));
        let errors = Config::load(&Sources { file, ..Sources::default() }).unwrap_err().to_string();
        assert!(errors.contains("ENTRACLAW_WAKE_OPENCODE_PASSWORD") && !errors.contains("hush"), "{errors}");
    }
}

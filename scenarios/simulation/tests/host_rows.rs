//! Compares the server's table of hosts with the profiles.

use entraclaw_inbox::notice::{Form, HOOKS, Moment};
use entraclaw_inbox::wake_up::wakes_by_hook;
use entraclaw_mcp::hosts::{HOSTS, HostRow, Park};
use fake_hosts::{HookAnswer, Mode, Profile, ProgressTokens};
use hostcheck::host::all;

fn row_of(client: &str) -> Option<&'static HostRow> {
    HOSTS.iter().find(|row| {
        row.names.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => client.starts_with(start),
            None => client == *name,
        })
    })
}

#[test]
fn the_server_knows_every_profile_of_a_program_by_its_name_and_waits_less_than_its_limit() {
    for host in all().unwrap().iter().filter(|host| host.family != "generic") {
        let profile = host.profile.as_ref().unwrap();
        let row = row_of(profile.client_name()).unwrap_or_else(|| panic!("no row for {}", host.id));
        assert_eq!(row.family, host.family, "{}", host.id);
        assert!(row.wait_cap_s * 1000 < *profile.calls.timeout_ms, "{}: waits too long", host.id);
    }
}

/// The three numbers that a host tells of its version.
fn told(profile: &Profile) -> [u64; 3] {
    let mut numbers = [0; 3];
    let version = profile.identity.client_info["version"].as_str().unwrap_or_default();
    for (number, text) in numbers.iter_mut().zip(version.split('.')) {
        *number = text.parse().unwrap_or(0);
    }
    // The server knows that this version tells nothing of itself.
    if profile.client_name() == "copilot-cli" && numbers == [0; 3] { [1, 0, 83] } else { numbers }
}

#[test]
fn the_server_parks_a_call_only_where_it_lasts() {
    for host in all().unwrap().iter().filter(|host| host.family != "generic") {
        let profile = host.profile.as_ref().unwrap();
        let calls = &profile.calls;
        let row = row_of(profile.client_name()).unwrap();
        let (parks, lasts) = match row.park {
            Park::Never => continue,
            Park::Since(since) => {
                (told(profile) >= since, Mode::Tui.of(&calls.background_after_ms).is_some())
            }
            Park::WithProgress => (
                *profile.wire.progress_tokens != ProgressTokens::None,
                *calls.progress_extends && calls.progress_extends.is_known_in(Mode::Tui),
            ),
        };
        assert_eq!(parks, lasts, "{}", host.id);
    }
}

#[test]
fn the_server_answers_exactly_the_hooks_whose_answer_reaches_the_model() {
    for host in all().unwrap().iter().filter(|host| host.family != "generic") {
        let profile = host.profile.as_ref().unwrap();
        let hooks = &profile.hooks;
        let tells_its_own = profile.identity.client_info["version"] == host.version();
        for row in HOOKS.iter().filter(|row| row.family == host.family) {
            let fact = match (row.moment, row.event) {
                (_, "notification") => &hooks.shell_end,
                (Moment::SessionStart, _) => &hooks.session_start,
                (Moment::Prompt, _) => &hooks.prompt,
                (Moment::AfterTool, _) => &hooks.after_tool,
                (Moment::TurnEnd, _) => &hooks.turn_end,
            };
            let place = format!("{}: {}", host.id, row.event);
            if let Some(hook) = fact.as_ref() {
                let form = match hook.answer {
                    HookAnswer::Block => Form::Block,
                    HookAnswer::Deny => Form::Deny,
                    HookAnswer::Context => Form::Context,
                    HookAnswer::SpecificContext => Form::SpecificContext,
                };
                assert_eq!(
                    (hook.event.as_str(), form),
                    (row.event, row.form_of(Some(told(profile)))),
                    "{place}"
                );
            }
            let Some(since) = row.since else { continue };
            if told(profile) >= since {
                assert!(
                    fact.is_some() || !fact.is_known_in(Mode::Tui),
                    "{place}: what it answers is dropped"
                );
            } else if tells_its_own {
                assert!(fact.is_none(), "{place}: it is silent where it would be heard");
            }
        }
    }
}

#[test]
fn the_hook_that_wakes_waits_exactly_where_it_can_wake() {
    for host in all().unwrap() {
        let Some(profile) = &host.profile else { continue };
        let facts = &profile.waking;
        let wakes = *facts.beside && *Mode::Tui.of(&facts.wakes);
        assert_eq!(wakes_by_hook(&host.family, told(profile)), wakes, "{}", host.id);
    }
}

#[test]
fn the_server_pushes_to_exactly_the_families_of_which_one_takes_it() {
    for row in HOSTS {
        let of_family = all().unwrap().iter().filter(|host| host.family == row.family);
        let takers: Vec<[u64; 3]> = of_family
            .filter_map(|host| host.profile.as_deref())
            .filter(|profile| *Mode::Tui.of(&profile.channel.delivered))
            .map(told)
            .collect();
        assert_eq!(row.channel_since.is_some(), !takers.is_empty(), "{}", row.family);
        assert!(takers.iter().all(|version| row.channel_since <= Some(*version)), "{}", row.family);
    }
}

#[test]
fn a_host_of_no_known_name_has_no_row() {
    for host in all().unwrap().iter().filter(|host| host.family == "generic") {
        assert!(host.profile.as_ref().is_none_or(|profile| row_of(profile.client_name()).is_none()));
    }
}

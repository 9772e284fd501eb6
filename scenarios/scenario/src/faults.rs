//! Fault profiles: how often days that are drawn from the seed go wrong, and in which ways. Data alone.
//! A profile must never name a trouble that a scenario does not list: whether it can happen there, the scenario knows.

use serde::{Deserialize, Deserializer};

use crate::Trouble::{
    self, Change, ClockStep, Crash, CutJson, DeltaReset, Denied, DiskFull, FailedSync, Late, LostAnswer,
    LostReply, Outage, PowerCut, ServerError, Slow, Terminal, Throttle, TokenExpiry, TokenRefused,
};

/// A mix of troubles.
#[derive(Debug, PartialEq, Eq)]
pub struct FaultProfile {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description of one line.
    pub says: &'static str,
    /// Of so many bursts,
    pub of_bursts: u64,
    /// so many meet trouble, by chance.
    pub troubled: u64,
    /// Troubles that come together.
    pub at_once: u32,
    /// The weight of each kind; a kind that is not named never happens. Empty: all alike.
    pub weights: &'static [(Trouble, u64)],
}

/// The profile that is used where none is named.
pub static USUAL: &FaultProfile = &PROFILES[1];

macro_rules! profiles {
    ($( $name:literal: $says:literal, $troubled:literal of $of_bursts:literal, $at_once:literal, $weights:expr; )*) => {
        /// Every profile.
        pub static PROFILES: &[FaultProfile] = &[$( FaultProfile {
            name: $name, says: $says, of_bursts: $of_bursts, troubled: $troubled, at_once: $at_once, weights: &$weights,
        }, )*];
    };
}

// A row: the name, what it is like, how many of how many bursts, how many troubles at once, and their weights.
profiles! {
    "calm": "nothing goes wrong",
        0 of 1, 1, [];
    "usual": "one burst in three meets one of the scenario's troubles, all alike (the default)",
        1 of 3, 1, [];
    "stormy": "two bursts in three meet two troubles at once",
        2 of 3, 2, [];
    "network": "every other burst: outages, throttling, broken, lost, slow and late answers, two at once",
        1 of 2, 2, [(Throttle, 2), (Outage, 2), (ServerError, 2), (CutJson, 3), (LostAnswer, 3), (Slow, 2), (Late, 3)];
    "disk": "every other burst: a full disk, failing syncs, and now and then a power cut",
        1 of 2, 1, [(DiskFull, 3), (FailedSync, 3), (PowerCut, 1)];
    "crash": "every other burst: kills, power cuts, and sessions that come and go",
        1 of 2, 1, [(Crash, 2), (PowerCut, 1), (Terminal, 2)];
    "host": "every other burst: answers that the host loses, and a host that dies with its server",
        1 of 2, 1, [(LostReply, 3), (Crash, 1)];
    "clock": "every other burst: a wall clock that jumps, and messages that are late, each with a crash now and then",
        1 of 2, 1, [(ClockStep, 4), (Late, 2), (Crash, 1)];
    "sign-in": "every other burst: tokens that end or are refused",
        1 of 2, 1, [(TokenRefused, 1), (TokenExpiry, 1)];
    "people": "every other burst: messages that are changed, taken back or late, people who are denied for a while, and an inbox that is forgotten",
        1 of 2, 1, [(Change, 3), (Late, 2), (Denied, 2), (DeltaReset, 1)];
}

impl FaultProfile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The troubles of a list that can happen, each with its weight.
    pub fn weigh(&self, troubles: &[Trouble]) -> Vec<(Trouble, u64)> {
        let weight = |trouble: Trouble| match self.weights {
            [] => 1,
            weights => weights.iter().find(|(kind, _)| *kind == trouble).map_or(0, |(_, weight)| *weight),
        };
        let weighed = troubles.iter().map(|trouble| (*trouble, weight(*trouble)));
        weighed.filter(|(_, weight)| *weight > 0 && self.troubled > 0).collect()
    }
}

/// A profile as a scenario names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults(pub &'static FaultProfile);

impl<'de> Deserialize<'de> for Faults {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let names = || PROFILES.iter().map(|profile| profile.name);
        FaultProfile::named(&name).map(Self).ok_or_else(|| {
            let known = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            serde::de::Error::custom(format!("unknown fault profile `{name}`, expected one of {known}"))
        })
    }
}

impl schemars::JsonSchema for Faults {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Faults".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one =
            |profile: &FaultProfile| serde_json::json!({"const": profile.name, "description": profile.says});
        let all: Vec<_> = PROFILES.iter().map(one).collect();
        schemars::json_schema!({"description": "How often what goes wrong.", "type": "string", "oneOf": all})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_chances_are_chances() {
        let names: std::collections::BTreeSet<_> = PROFILES.iter().map(|profile| profile.name).collect();
        assert_eq!(names.len(), PROFILES.len());
        for profile in PROFILES {
            assert!(profile.troubled <= profile.of_bursts && profile.at_once > 0, "{}", profile.name);
            assert!(profile.weights.iter().all(|(_, weight)| *weight > 0), "{}", profile.name);
        }
        assert_eq!(USUAL.name, "usual");
    }

    #[test]
    fn a_scenario_names_a_profile_and_a_wrong_name_is_told() {
        let parsed = |name: &str| {
            let head = "id: a.b\ntitle: t\nrequirement: {area: a, level: must, says: s, source: s}\nsteps:\n";
            let step =
                format!("  - random: {{lasting: 1h, bursts: 2, troubles: [outage], faults: {name}}}\n");
            crate::parse("a.yaml", &format!("{head}{step}"))
        };
        let loaded = parsed("stormy").unwrap();
        let crate::Step::Random(random) = &loaded.scenario.steps[0].value else { panic!("no draw") };
        assert_eq!(random.faults.map(|faults| faults.0.name), Some("stormy"));
        let said = parsed("stormi").unwrap_err().rendered;
        assert!(said.contains("did you mean `stormy`?"), "{said}");
    }

    #[test]
    fn a_trouble_that_the_scenario_does_not_list_never_happens() {
        let disk = FaultProfile::named("disk").unwrap();
        assert_eq!(disk.weigh(&[Outage, FailedSync, PowerCut]), [(FailedSync, 3), (PowerCut, 1)]);
        assert_eq!(disk.weigh(&[Outage]), []);
        assert_eq!(USUAL.weigh(&[Outage, Late]), [(Outage, 1), (Late, 1)]);
        assert_eq!(FaultProfile::named("calm").unwrap().weigh(&[Outage]), []);
    }
}

//! Sessions and questions by rule, in the manner of LongMemEval: many sessions speak of the same things, one of them says
//! what is asked for, and the question says it in part in other words: of what is said of the thing
//! it shares a word, and one time in five it calls the thing by another name.
//!
//! It must never make a question whose answer stands in two sessions.

use std::collections::BTreeSet;

use entraclaw_seams::random::{Random, SplitMix};
use serde::{Deserialize, Serialize};

/// A message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) role: String,
    pub(crate) content: String,
}

/// A session.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Talk {
    pub(crate) id: String,
    pub(crate) messages: Vec<Said>,
}

/// A question and the sessions that answer it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) answers: Vec<String>,
    /// Whether it calls the thing by another name, which no search for words can know.
    pub(crate) is_renamed: bool,
}

/// Sessions, and questions about them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Set {
    pub(crate) sessions: Vec<Talk>,
    pub(crate) questions: Vec<Question>,
}

/// Sessions of a set.
const SESSIONS: usize = 500;
/// Questions of a set.
const QUESTIONS: usize = 300;
/// How often a question names a thing by its other name.
const OTHER_NAME: f64 = 0.2;

/// Things, each with the name that is used and another one.
const THINGS: [[&str; 2]; 36] = [
    ["login page", "sign-in screen"],
    ["invoice export", "billing download"],
    ["search index", "lookup tables"],
    ["image uploader", "picture upload"],
    ["payment gateway", "checkout provider"],
    ["mail sender", "email dispatch"],
    ["mobile app", "phone client"],
    ["data warehouse", "analytics database"],
    ["job scheduler", "cron runner"],
    ["feature flags", "rollout toggles"],
    ["error tracker", "crash reporting"],
    ["help pages", "documentation site"],
    ["backup script", "snapshot routine"],
    ["rate limiter", "request throttle"],
    ["message broker", "event queue"],
    ["admin panel", "back office"],
    ["user profiles", "account pages"],
    ["translation files", "localised strings"],
    ["test suite", "automated checks"],
    ["build pipeline", "continuous integration"],
    ["load balancer", "traffic proxy"],
    ["cache layer", "memory store"],
    ["session store", "login state"],
    ["report generator", "pdf summaries"],
    ["calendar sync", "meeting integration"],
    ["chat widget", "support bubble"],
    ["audit log", "change history"],
    ["price calculator", "quote engine"],
    ["dark theme", "night mode"],
    ["onboarding tour", "welcome guide"],
    ["map view", "location screen"],
    ["csv importer", "spreadsheet loader"],
    ["push notifications", "device alerts"],
    ["tax rules", "vat tables"],
    ["voice recorder", "audio capture"],
    ["shopping cart", "basket"],
];

/// What can be said of a thing, what is asked then, and what stands for `{v}`.
type Fact = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);
const FACTS: [Fact; 14] = [
    (
        &[
            "We set the timeout of the {t} to {v} seconds.",
            "The {t} now waits {v} seconds before its timeout.",
        ],
        &["After how many seconds does the {t} give up?", "Which timeout did we choose for the {t}?"],
        &["7", "12", "25", "40", "90"],
    ),
    (
        &[
            "{v} is responsible for the {t} from now on.",
            "From Monday {v} takes the responsibility for the {t}.",
        ],
        &["Whose responsibility is the {t}?", "Who is responsible for the {t} now?"],
        &["Alice", "Bob"],
    ),
    (
        &["For the {t} we went with the library {v}.", "Let's build the {t} on {v}, its library is small."],
        &["Which library did we pick for the {t}?", "On which library is the {t} built?"],
        &["tantivy", "rocket", "polars", "leaflet", "pandas", "hyper"],
    ),
    (
        &["The {t} has to be finished by {v}.", "We finish the {t} by {v}, the date is promised."],
        &["When do we finish the {t}?", "By when must the {t} be finished?"],
        &["Easter", "the end of March", "Friday", "the second sprint"],
    ),
    (
        &["The {t} listens on port {v}.", "I moved the {t} to port {v}."],
        &["On which port does the {t} run?", "What is the port of the {t}?"],
        &["8443", "9090", "7001", "3100"],
    ),
    (
        &["The {t} crashed because of {v}.", "The crash of the {t} comes from {v}."],
        &["Why did the {t} crash?", "What was the cause of the crash in the {t}?"],
        &["a full disk", "a race between two writers", "an expired certificate", "a null pointer"],
    ),
    (
        &["We dropped {v} from the {t}, it was too slow.", "The {t} no longer needs {v}, so it was dropped."],
        &["What did we drop from the {t}?", "Which dependency was dropped from the {t} and why?"],
        &["Redis", "jQuery", "Kafka", "the ORM", "Memcached"],
    ),
    (
        &["We keep the data of the {t} for {v} days.", "After {v} days the data of the {t} are deleted."],
        &["For how many days do we keep data of the {t}?", "How long until data of the {t} are deleted?"],
        &["30", "60", "180", "365"],
    ),
    (
        &["The {t} costs us {v} euros a month.", "The budget for the {t} is {v} euros."],
        &["How many euros does the {t} cost?", "What is the budget of the {t} in euros?"],
        &["200", "450", "1200", "3000"],
    ),
    (
        &["The {t} runs in the region {v}.", "We host the {t} in {v}, a region near our users."],
        &["In which region is the {t} hosted?", "Where does the {t} run, in which region?"],
        &["westeurope", "northeurope", "swedencentral", "eastus"],
    ),
    (
        &["The {t} writes its files in the format {v}.", "We changed the format of the {t} to {v}."],
        &["Which format does the {t} use?", "In what format are the files of the {t}?"],
        &["parquet", "avro", "msgpack", "plain text"],
    ),
    (
        &["At most {v} items fit on a page of the {t}.", "I raised the limit of the {t} to {v} items."],
        &["How many items does the {t} allow at most?", "What is the limit of items in the {t}?"],
        &["50", "75", "250", "999"],
    ),
    (
        &["The work on the {t} is in the branch {v}.", "I pushed the {t} to the branch {v}."],
        &["On which branch is the work on the {t}?", "Where did we push the {t}, to which branch?"],
        &["spring-cleaning", "try-two", "hotfix-9", "next"],
    ),
    (
        &["Customers complained that the {t} {v}.", "A complaint says that the {t} {v}."],
        &["What did customers complain about in the {t}?", "Which complaint was there about the {t}?"],
        &["is too slow on Mondays", "forgets their choices", "shows the wrong currency", "hides the button"],
    ),
];

/// What people and agents say beside that. `{t}` is a thing of the session or another one.
const CHATTER: [&str; 24] = [
    "Can you have a look at the {t}?",
    "I read the code of the {t} and the files around it.",
    "The {t} is fine for now, let us go on.",
    "Please run the tests of the {t} again.",
    "All tests pass, and the {t} builds without warnings.",
    "I refactored a helper of the {t}, nothing else changes.",
    "What is left to do for the {t}?",
    "Two small things are left: names, and a comment in the {t}.",
    "I don't like how the {t} reads its settings.",
    "Done. The settings of the {t} are read once at the start.",
    "Which files belong to the {t}?",
    "It seems that the {t} has no documentation yet.",
    "Let me think about the {t} and come back to it after lunch.",
    "I would rather keep the {t} simple than fast.",
    "Is there an owner, a limit or a deadline that I should know of?",
    "We can talk about the port, the region and the format another day.",
    "How many days did we lose with this?",
    "The library is old, but we have no budget for a new one.",
    "Why is the branch so far behind?",
    "The customers will not see a difference.",
    "Thanks, that is what I wanted.",
    "Sure, I will do that now.",
    "Here is a summary of what was changed.",
    "Write a commit message for it.",
];

struct Draw(SplitMix);

impl Draw {
    fn below(&self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() >> 33).unwrap_or(0) % end
    }

    fn of(&self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }

    fn chance(&self, of_one: f64) -> bool {
        (self.below(1_000_000) as f64) < of_one * 1e6
    }
}

/// The set of a seed.
pub(crate) fn generate(seed: u64) -> Set {
    let draw = Draw(SplitMix::seeded(seed));
    let mut told: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut asked: Vec<(usize, usize, String)> = Vec::new();
    let mut set = Set::default();
    for n in 0..SESSIONS {
        let id = format!("session-{n:03}");
        let thing = draw.below(THINGS.len());
        let mut messages = Vec::new();
        let length = 12 + draw.below(20);
        let tells_at = draw.below(length);
        for at in 0..length {
            let mut content: Vec<String> = (0..=draw.below(4)).map(|_| chatter(&draw, thing)).collect();
            let fact = draw.below(FACTS.len());
            if at == tells_at && told.insert((thing, fact)) {
                let text = say(draw.of(FACTS[fact].0), THINGS[thing][0], draw.of(FACTS[fact].2));
                content.insert(draw.below(content.len() + 1), text);
                asked.push((thing, fact, id.clone()));
            }
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            messages.push(Said { role: role.to_owned(), content: content.join(" ") });
        }
        set.sessions.push(Talk { id, messages });
    }
    asked.truncate(QUESTIONS);
    for (thing, fact, id) in asked {
        let is_renamed = draw.chance(OTHER_NAME);
        let text = say(draw.of(FACTS[fact].1), THINGS[thing][usize::from(is_renamed)], "");
        set.questions.push(Question { text, answers: vec![id], is_renamed });
    }
    set
}

/// A sentence about the thing of the session, or one time in four about another one.
fn chatter(draw: &Draw, thing: usize) -> String {
    let thing = if draw.chance(0.25) { draw.below(THINGS.len()) } else { thing };
    say(draw.of(&CHATTER), THINGS[thing][0], "")
}

fn say(template: &str, thing: &str, value: &str) -> String {
    template.replace("{t}", thing).replace("{v}", value)
}

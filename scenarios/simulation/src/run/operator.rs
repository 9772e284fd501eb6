//! The operator at a terminal: what the commands of the program do while a cell runs.
//! It reads a pairing code where a person would, in the chat, and never in the server's files.

use std::time::Duration;

use fake_microsoft::bot::FakeBot;
use scenario::{BOT_CONVERSATION, OperatorStep, PersonRef, word};

use super::miss::Miss;
use super::play::Play;

/// Longest that a person waits to be told a code.
const CODE_MAX: Duration = Duration::from_secs(30);
const CODE_CHARS: usize = 6;

/// Does what the step says.
pub(super) async fn act(play: &Play<'_>, act: &OperatorStep) -> anyhow::Result<()> {
    match act {
        OperatorStep::Pair(pair) => {
            let chat = pair.chat.as_deref().unwrap_or("dm");
            let Some(code) = code_in(play, chat).await else {
                return Err(Miss::new(format!("no person was told a code in chat `{chat}`")).into());
            };
            let done = play.stage.command(&["pair", &code]);
            if pair.refused.is_none() && done.is_ok() {
                play.let_speak(&pair.person, true);
            }
            outcome("pair", done, pair.refused.as_deref())?;
        }
        OperatorStep::PairCode(wrong) => {
            let done = play.stage.command(&["pair", &wrong.code]);
            outcome("pair", done, Some(&wrong.refused))?;
        }
        OperatorStep::Allow(who) => {
            let done = by_each_name(play, "allow", &who.person)?;
            let_speak(play, who, true);
            outcome("allow", done, None)?;
        }
        OperatorStep::Deny(who) => {
            let done = by_each_name(play, "deny", &who.person)?;
            let_speak(play, who, false);
            outcome("deny", done, None)?;
        }
        OperatorStep::Chat(chat) => {
            let id = match chat.chat.strip_prefix(BOT_CONVERSATION) {
                Some(handle) => FakeBot::conversation_id(handle),
                None => play.graph.with(|graph| graph.chat_id(&chat.chat).map(str::to_owned))?,
            };
            outcome("chat", play.stage.command(&["chat", &id, &word(chat.messages)]), None)?;
        }
        OperatorStep::Overwrite(file) => play.stage.overwrite(&file.file, &file.text)?,
    }
    Ok(())
}

fn let_speak(play: &Play<'_>, who: &PersonRef, may: bool) {
    play.let_speak(&who.person, may);
    if who.unsettled {
        play.unsettle(&who.person);
    }
}

/// Types a command for a person's ids, and for their address where there is mail: the list of a cell has the two apart.
fn by_each_name(play: &Play<'_>, command: &str, person: &str) -> anyhow::Result<Result<String, String>> {
    let person = play.graph.with(|graph| graph.person(person).cloned())?;
    let has_mail = play.cell.scenario.scenario.world.mail.is_some();
    let ids = format!("{}/{}", person.tenant_id, person.object_id);
    let names = std::iter::once(ids).chain(person.mail.filter(|_| has_mail));
    let said: Result<Vec<String>, String> = names.map(|name| play.stage.command(&[command, &name])).collect();
    Ok(said.map(|said| said.concat()))
}

fn outcome(command: &str, done: Result<String, String>, refused: Option<&str>) -> Result<(), Miss> {
    match (done, refused) {
        (Ok(_), None) => Ok(()),
        (Err(problem), Some(words)) if problem.contains(words) => Ok(()),
        (Ok(said), Some(words)) => Err(Miss::texts(format!("`{command}` was not refused"), words, &said)),
        (Err(problem), words) => {
            Err(Miss::texts(format!("`{command}` was refused"), words.unwrap_or_default(), &problem))
        }
    }
}

/// The newest code in what the agent wrote to a chat.
async fn code_in(play: &Play<'_>, chat: &str) -> Option<String> {
    let deadline = tokio::time::Instant::now() + CODE_MAX;
    loop {
        let texts = match chat.strip_prefix(BOT_CONVERSATION).map(FakeBot::conversation_id) {
            Some(id) => play.bot.with(|bot| {
                let there = bot.sent().iter().filter(|sent| sent.conversation_id == id);
                there.map(|sent| sent.text.clone()).collect()
            }),
            None => play.sent_by_agent(Some(chat)),
        };
        if let Some(code) = texts.iter().rev().find_map(|text| code(text)) {
            return Some(code);
        }
        if tokio::time::Instant::now() >= deadline {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Six capital letters and digits that stand alone.
fn code(text: &str) -> Option<String> {
    let is_of_a_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| word.len() == CODE_CHARS && word.chars().all(is_of_a_code))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn a_code_stands_alone() {
        assert_eq!(code("<p>the code is <strong>K7M2QX</strong>, TEAMS</p>").as_deref(), Some("K7M2QX"));
        assert_eq!(code("no code here, nor in K7M2QXZ"), None);
    }
}

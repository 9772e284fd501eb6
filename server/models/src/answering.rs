//! One answer while it comes: thinking is told from text, tools are joined and repaired, pieces go to their reader.
//! It must never let thinking into the text, nor more into memory than the limits allow.

use tokio::sync::mpsc;

use crate::answer::{Answer, Piece, Stop, ToolRequest, Usage};
use crate::limits::TEXT_BYTES_MAX;
use crate::model::ModelError;
use crate::question::Question;
use crate::thinking::{Part, ThinkingSplitter};
use crate::tools::{self, Fragment, Fragments, Joined, TextWatch};

/// How much of `said` has to come again before it counts as repeated.
const REPEATED_BYTES_MIN: usize = 24;

/// An answer that is coming.
pub(crate) struct Answering<'a> {
    question: &'a Question,
    pieces: mpsc::Sender<Piece>,
    splitter: ThinkingSplitter,
    repeated: Repeated<'a>,
    watch: TextWatch,
    fragments: Fragments,
    text: String,
    bytes: usize,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<Stop>,
}

impl<'a> Answering<'a> {
    pub(crate) fn new(question: &'a Question, pieces: mpsc::Sender<Piece>) -> Self {
        let said = question.said.as_deref().unwrap_or_default();
        let goes_on = !said.is_empty();
        Self {
            question,
            pieces,
            splitter: ThinkingSplitter::new(goes_on),
            repeated: Repeated::new(said),
            watch: TextWatch::new(!question.tools.is_empty(), goes_on),
            fragments: Fragments::default(),
            text: String::new(),
            bytes: 0,
            usage: Usage::default(),
            stop: None,
        }
    }

    /// The same, from a model that goes on for certain: what it says again is meant.
    #[cfg(feature = "embedded-model")]
    pub(crate) fn certain(question: &'a Question, pieces: mpsc::Sender<Piece>) -> Self {
        Self { repeated: Repeated::new(""), ..Self::new(question, pieces) }
    }

    /// Text as the server sends it, thinking between tags included.
    pub(crate) async fn text(&mut self, text: &str) -> Result<(), ModelError> {
        self.count(text)?;
        let parts = self.splitter.push(text);
        self.take(parts).await
    }

    /// Thinking that the server has told apart.
    pub(crate) async fn thinking(&mut self, text: &str) -> Result<(), ModelError> {
        self.count(text)?;
        if text.is_empty() { Ok(()) } else { self.send(Piece::Thinking(text.to_owned())).await }
    }

    /// A part of a tool.
    pub(crate) fn tool(&mut self, fragment: Fragment) -> Result<(), ModelError> {
        self.fragments.add(fragment).map_err(ModelError::Malformed)
    }

    /// The whole answer, when the stream has ended as it should.
    pub(crate) async fn finish(mut self) -> Result<Answer, ModelError> {
        let parts = self.splitter.finish();
        self.take(parts).await?;
        let rest = self.repeated.finish();
        self.say(&rest).await?;
        let question = self.question;
        let offers = |name: &str| question.tools.iter().any(|tool| tool.name == name);
        let (rest, found) = self.watch.finish(&offers);
        self.show(rest).await?;
        let mut joined = self.fragments.take();
        joined.extend(found);
        let mut tools = Vec::new();
        for tool in joined {
            let request = self.request(tools.len(), tool)?;
            self.send(Piece::Tool(request.clone())).await?;
            tools.push(request);
        }
        if !tools.is_empty() && self.text.trim().is_empty() {
            self.text.clear();
        }
        let stop = match self.stop {
            Some(Stop::Length) => Stop::Length,
            _ if tools.is_empty() => Stop::Done,
            _ => Stop::Tools,
        };
        Ok(Answer { text: self.text, tools, stop, usage: self.usage })
    }

    fn request(&self, number: usize, tool: Joined) -> Result<ToolRequest, ModelError> {
        let name = tools::name(&tool.name, self.question.tools.iter().map(|tool| tool.name.as_str()));
        let unread = |reason: String| {
            let start: String = tool.arguments.chars().take(80).collect();
            let of = if name.is_empty() { "a tool".to_owned() } else { format!("the tool {name}") };
            ModelError::Malformed(format!(
                "the model asks for {of} with arguments that can't be read: {reason}; they begin with '{start}'; \
                 ask again, or choose a model that is trained for tools"
            ))
        };
        let arguments = tools::arguments(&name, &tool.arguments).map_err(unread)?;
        if name.is_empty() {
            return Err(unread("its name is missing".to_owned()));
        }
        let id = tool.id.unwrap_or_else(|| format!("call_{}_{number}", self.question.turns.len()));
        Ok(ToolRequest { id, name, arguments: arguments.into() })
    }

    async fn take(&mut self, parts: Vec<Part>) -> Result<(), ModelError> {
        for part in parts {
            match part {
                Part::Thinking(text) => self.send(Piece::Thinking(text)).await?,
                Part::AllSoFarWasThinking => self.text.clear(),
                Part::Text(text) => {
                    let new = self.repeated.push(&text);
                    self.say(&new).await?;
                }
            }
        }
        Ok(())
    }

    async fn say(&mut self, text: &str) -> Result<(), ModelError> {
        let certain = self.watch.push(text);
        self.show(certain).await
    }

    async fn show(&mut self, text: String) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.text.push_str(&text);
        self.send(Piece::Text(text)).await
    }

    async fn send(&self, piece: Piece) -> Result<(), ModelError> {
        self.pieces.send(piece).await.map_err(|_| {
            ModelError::Stalled(
                "the caller does not read the answer any more, so its stream was closed".to_owned(),
            )
        })
    }

    fn count(&mut self, text: &str) -> Result<(), ModelError> {
        self.bytes += text.len();
        if self.bytes > TEXT_BYTES_MAX {
            let text = format!("the answer is longer than {TEXT_BYTES_MAX} bytes; give it a limit of tokens");
            return Err(ModelError::Malformed(text));
        }
        Ok(())
    }
}

/// Takes away what was already said, where a server sends it again or its model begins again with the same words.
struct Repeated<'a> {
    said: &'a str,
    held: String,
    is_over: bool,
}

impl<'a> Repeated<'a> {
    fn new(said: &'a str) -> Self {
        Self { said, held: String::new(), is_over: said.len() < REPEATED_BYTES_MIN }
    }

    fn push(&mut self, text: &str) -> String {
        if self.is_over {
            return text.to_owned();
        }
        self.held.push_str(text);
        if self.held.starts_with(self.said) {
            return self.finish().split_off(self.said.len());
        }
        if self.said.starts_with(&self.held) {
            return String::new();
        }
        self.finish()
    }

    fn finish(&mut self) -> String {
        self.is_over = true;
        std::mem::take(&mut self.held)
    }
}

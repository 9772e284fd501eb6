//! The model itself: its weights, its tokens, and the state of the last conversation.
//!
//! A state is never cut: it goes on where it is the beginning of the question and of what was said, and starts again else.
//! So it must never be ahead of what its reader has when a question is dropped: a token is read when the next one is made.
//! It is ahead only where a part of a character was held back, or what may be the call of a tool.
//! The question is read in parts of a fixed length and what was said token by token, as it was made, so that the numbers
//! are the same to the last bit.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::tokenizer::TokenizerFromGguf as _;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::{MAX_SEQ_LEN, ModelWeights};
use tokenizers::Tokenizer;

use super::required::Call;

/// How many tokens of a question are read at once. Between two parts it is seen whether the caller still waits.
const PART_TOKENS: usize = 64;
/// How many states are held. Each has its keys and values, which for a model of 135 million parameters are 46 kB a token.
const HELD_MAX: usize = 4;
/// How many answers are remembered by their tokens.
const REMEMBERED_MAX: usize = 8;

/// A loaded model.
pub(super) struct Engine {
    pub(super) name: String,
    pub(super) context: usize,
    tokenizer: Tokenizer,
    ends: Vec<u32>,
    /// As it was loaded. A copy shares the weights and has a state of its own.
    fresh: ModelWeights,
    state: State,
    held: VecDeque<(String, State)>,
    /// The tokens of the last questions with their answers: a text can be cut into tokens in several ways.
    remembered: VecDeque<Vec<u32>>,
    /// The tokens of this answer, and how many bytes of their text are out.
    made: Vec<u32>,
    out: usize,
    /// The last of them, which is read when the next one is made.
    unread: Option<u32>,
}

#[derive(Clone)]
struct State {
    weights: ModelWeights,
    tokens: Vec<u32>,
    /// How likely each token is next.
    next: Option<Tensor>,
}

impl Engine {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut file = std::fs::File::open(path).map_err(told)?;
        let content = Content::read(&mut file).map_err(told)?;
        let template = content.metadata.get("tokenizer.chat_template").and_then(|text| text.to_string().ok());
        if !template.is_some_and(|text| text.contains("<|im_start|>")) {
            return Err("its template is not ChatML; take a model with that one".to_owned());
        }
        let name = content.metadata.get("general.name").and_then(|name| name.to_string().ok());
        let name = name.cloned().unwrap_or_else(|| "embedded".to_owned());
        let longest = content.metadata.get("llama.context_length").and_then(|length| length.to_u32().ok());
        let longest = longest.and_then(|length| usize::try_from(length).ok()).unwrap_or(MAX_SEQ_LEN);
        let tokenizer = Tokenizer::from_gguf(&content).map_err(told)?;
        let mut ends: Vec<u32> =
            ["<|im_end|>", "<|endoftext|>"].iter().filter_map(|end| tokenizer.token_to_id(end)).collect();
        let end = content.metadata.get("tokenizer.ggml.eos_token_id").and_then(|end| end.to_u32().ok());
        ends.extend(end);
        let fresh = ModelWeights::from_gguf(content, &mut file, &Device::Cpu).map_err(told)?;
        let state = State { weights: fresh.clone(), tokens: Vec::new(), next: None };
        Ok(Self {
            name,
            context: longest.min(MAX_SEQ_LEN),
            tokenizer,
            ends,
            fresh,
            state,
            held: VecDeque::new(),
            remembered: VecDeque::new(),
            made: Vec::new(),
            out: 0,
            unread: None,
        })
    }

    /// The tokens of the question and of what was said: those by which it was made, where they are remembered.
    pub(super) fn tokens(&mut self, prompt: &str, said: &str) -> Result<(Vec<u32>, Vec<u32>), String> {
        self.remember();
        let prompt = self.encode(prompt)?;
        if said.is_empty() {
            return Ok((prompt, Vec::new()));
        }
        for whole in self.remembered.iter().rev() {
            let Some(after) = whole.strip_prefix(prompt.as_slice()) else { continue };
            for length in 1..=after.len() {
                let text = self.decode(&after[..length])?;
                if text == said {
                    return Ok((prompt, after[..length].to_vec()));
                }
                if text.len() > said.len() {
                    break;
                }
            }
        }
        let said = self.encode(said)?;
        Ok((prompt, said))
    }

    /// Reads what was asked and said; how many tokens of it were already read.
    pub(super) fn begin(&mut self, prompt: &[u32], said: &[u32], gone: &AtomicBool) -> Result<usize, String> {
        self.remember();
        self.out = 0;
        let all = [prompt, said].concat();
        let read = self.state.tokens.len();
        let goes_on =
            read >= prompt.len() && all.starts_with(&self.state.tokens) && self.state.next.is_some();
        let cached = if goes_on { read } else { 0 };
        if !goes_on {
            self.state = State { weights: self.fresh.clone(), tokens: Vec::new(), next: None };
            for part in prompt.chunks(PART_TOKENS) {
                still_waits(gone)?;
                self.read(part)?;
            }
        }
        for &token in &all[self.state.tokens.len()..] {
            still_waits(gone)?;
            self.read(&[token])?;
        }
        Ok(cached)
    }

    /// Makes one token and returns its text; nothing at the end of the answer. Its caller has the text of the last one.
    pub(super) fn step(&mut self, call: Option<&Call>) -> Result<Option<String>, String> {
        if let Some(last) = self.unread.take() {
            self.read(&[last])?;
        }
        let Some(next) = &self.state.next else { return Err("no question was read".to_owned()) };
        let likely: Vec<f32> = next.to_vec1().map_err(told)?;
        let token = match call {
            None => best(&likely).ok_or("it has no tokens")?,
            Some(call) => self.allowed(&likely, call)?,
        };
        if self.ends.contains(&token) {
            return Ok(None);
        }
        self.made.push(token);
        self.unread = Some(token);
        let text = self.decode(&self.made)?;
        // The bytes of a character may be in several tokens.
        if text.ends_with('\u{fffd}') {
            return Ok(Some(String::new()));
        }
        let new = text.get(self.out..).unwrap_or_default().to_owned();
        self.out = text.len();
        Ok(Some(new))
    }

    /// What of the answer is not out, at its end.
    pub(super) fn rest(&mut self) -> String {
        let text = self.decode(&self.made).unwrap_or_default();
        let rest = text.get(self.out..).unwrap_or_default().to_owned();
        self.out = text.len();
        rest
    }

    pub(super) fn hold(&mut self, name: String) -> bool {
        if self.state.next.is_none() {
            return false;
        }
        self.held.retain(|(held, _)| *held != name);
        if self.held.len() >= HELD_MAX {
            self.held.pop_front();
        }
        self.held.push_back((name, self.state.clone()));
        true
    }

    pub(super) fn bring_back(&mut self, name: &str) -> bool {
        self.remember();
        let found = self.held.iter().find(|(held, _)| held == name).map(|(_, state)| state.clone());
        let was_held = found.is_some();
        if let Some(state) = found {
            self.state = state;
        }
        was_held
    }

    fn remember(&mut self) {
        if self.made.is_empty() {
            return;
        }
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.pop_front();
        }
        let tokens = self.state.tokens.iter().copied().chain(self.unread.take());
        self.remembered.push_back(tokens.collect());
        self.made.clear();
    }

    fn read(&mut self, tokens: &[u32]) -> Result<(), String> {
        let input = Tensor::new(tokens, &Device::Cpu).and_then(|input| input.unsqueeze(0)).map_err(told)?;
        let at = self.state.tokens.len();
        let next = self.state.weights.forward(&input, at).and_then(|next| next.squeeze(0)).map_err(told)?;
        self.state.tokens.extend_from_slice(tokens);
        self.state.next = Some(next);
        Ok(())
    }

    /// The likeliest token that the call allows.
    fn allowed(&self, likely: &[f32], call: &Call) -> Result<u32, String> {
        let mut order: Vec<usize> = (0..likely.len()).collect();
        order.sort_by(|&one, &other| likely[other].total_cmp(&likely[one]));
        let before = self.decode(&self.made)?;
        for index in order {
            let Ok(token) = u32::try_from(index) else { continue };
            let with: Vec<u32> = self.made.iter().copied().chain([token]).collect();
            let text = self.decode(&with)?;
            if text
                .strip_prefix(before.as_str())
                .is_some_and(|new| !new.ends_with('\u{fffd}') && call.allows(new))
            {
                return Ok(token);
            }
        }
        Err("no token fits the schemas of the tools".to_owned())
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        Ok(self.tokenizer.encode(text, false).map_err(told)?.get_ids().to_vec())
    }

    fn decode(&self, tokens: &[u32]) -> Result<String, String> {
        self.tokenizer.decode(tokens, true).map_err(told)
    }
}

/// Fails when the caller has gone.
pub(super) fn still_waits(gone: &AtomicBool) -> Result<(), String> {
    if gone.load(Ordering::Relaxed) {
        return Err("its caller does not wait for it any more".to_owned());
    }
    Ok(())
}

fn best(likely: &[f32]) -> Option<u32> {
    let best = likely.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
    best.and_then(|(index, _)| u32::try_from(index).ok())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

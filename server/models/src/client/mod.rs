//! The clients, one for each form of server.
//! A client must never guess what its server can do.

mod chat;
mod continuing;
pub(crate) mod llama_cpp;
pub(crate) mod lm_studio;
pub(crate) mod ollama;
pub(crate) mod openai;
mod refusal;
mod wire;

pub(crate) use llama_cpp::LlamaCpp;
pub(crate) use ollama::Ollama;
pub(crate) use openai::OpenAi;
pub(crate) use wire::Wire;

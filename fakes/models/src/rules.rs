//! Each claim of the fakes about a real server, as data: its text, its source, and how sure it is.

/// How sure a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The maker's documents say so.
    Doc,
    /// Its source, or a maintainer in an issue, says so.
    Source,
    /// Users report it, and no maintainer has answered.
    Reported,
    /// It was not looked up. The fake needs some behaviour here.
    Guess,
}

/// One claim about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub id: RuleId,
    /// The claim as text.
    pub says: &'static str,
    /// The public page behind it.
    pub source: &'static str,
    /// How sure it is.
    pub mark: Mark,
}

/// All claims, in the order of the file.
pub fn rules() -> &'static [Rule] {
    TABLE
}

macro_rules! rules {
    ($( $variant:ident $mark:ident $source:literal $says:literal; )*) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RuleId {
            $( #[doc = concat!("`", stringify!($variant), "`; [`rules`] has what it says.")] $variant, )*
        }

        static TABLE: &[Rule] = &[
            $( Rule { id: RuleId::$variant, says: $says, source: $source, mark: Mark::$mark }, )*
        ];
    };
}

rules! {
    // OpenAI's form.
    OpenAiStream Doc "https://platform.openai.com/docs/api-reference/chat-streaming" "events with a delta, then one with the reason, with include_usage one with the usage and no choices, then [DONE]";
    OpenAiFragments Doc "https://platform.openai.com/docs/guides/function-calling" "a tool comes by its index: id and name first, then its arguments in pieces of text";
    OpenAiTooLong Reported "https://github.com/langchain-ai/langchain/issues/24058" "a question that is too long is 400 with the code context_length_exceeded";

    // Ollama.
    OllamaStream Doc "https://github.com/ollama/ollama/blob/main/docs/api.md" "/api/chat answers by lines of JSON; the last has done, its reason and the counts, times in nanoseconds";
    OllamaTools Doc "https://github.com/ollama/ollama/blob/main/docs/api.md" "a tool comes whole, its arguments are an object";
    OllamaThinking Doc "https://github.com/ollama/ollama/blob/main/docs/api.md" "thinking comes in a field of its own beside the content";
    OllamaLists Doc "https://github.com/ollama/ollama/blob/main/docs/api.md" "/api/tags has what is there, /api/ps what is loaded, /api/show what a model can do and its longest context";
    OllamaContextInForce Doc "https://github.com/ollama/ollama/blob/main/docs/context-length.mdx" "/api/ps has the context with which a model is loaded";
    OllamaCutsOpenAi Reported "https://github.com/ollama/ollama/issues/18107" "the form of OpenAI takes no length of the context; what is longer is cut without a word";
    OllamaTruncate Source "https://github.com/ollama/ollama/pull/17944" "with truncate false a question that is too long is 400 with n_prompt_tokens and n_ctx";
    OllamaClose Source "https://github.com/ollama/ollama/issues/1695" "closing the connection stops the answer";
    OllamaContinues Source "https://github.com/ollama/ollama/issues/6778" "a last message of the assistant is gone on with";
    OllamaBeginsAgain Reported "https://github.com/ollama/ollama/issues/5775" "with some templates the answer begins again";
    OllamaRenders Source "https://github.com/ollama/ollama/blob/main/server/routes.go" "_debug_render_only gives what the template makes of the question, and asks no model";
    OllamaLoads Source "https://github.com/ollama/ollama/blob/main/server/routes.go" "a question loads its model, also one that is only rendered";
    OllamaUnknownModel Source "https://github.com/ollama/ollama/blob/main/server/routes.go" "a model that is not there is 404 with its name";
    OllamaNoTools Source "https://github.com/ollama/ollama/blob/main/server/routes.go" "tools for a model that can't use them are 400";

    // llama.cpp.
    LlamaTimings Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "the last event has timings; cache_n are the tokens of the question that were reused, prompt_n the others";
    LlamaProperties Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "/props has n_ctx of a slot, the number of slots, and what the template can do";
    LlamaSlots Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "a slot is saved to and restored from a file by its name, with the number of tokens";
    LlamaNoSlots Source "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp" "without --slot-save-path every action is 501, whatever it is; with it an unknown one is 400";
    LlamaRestoreLies Reported "https://github.com/ggml-org/llama.cpp/issues/25913" "on some models a restore says that it worked, and nothing is reused";
    LlamaPrefill Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "a last message of the assistant is gone on with";
    LlamaPrefillThinking Source "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-common.cpp" "that is 400 while the template thinks";
    LlamaTooLong Source "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp" "a question that is too long is 400 exceed_context_size_error with n_prompt_tokens and n_ctx";
    LlamaLoading Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "while the model loads all is 503 \"Loading model\"";
    LlamaClose Reported "https://github.com/ggml-org/llama.cpp/issues/24496" "some builds don't notice a closed connection and go on to the end";
    LlamaOllamaShim Reported "https://mvysny.github.io/llama-server-endpoints/" "it has a list of models where Ollama has one, and no version of Ollama";
    LlamaOneModel Doc "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "every name means the model that is loaded";

    // LM Studio and vLLM.
    StudioLists Doc "https://lmstudio.ai/docs/developer/rest/list" "/api/v1/models has loaded instances with their context, and whether a model was trained for tools";
    StudioOldLists Doc "https://lmstudio.ai/docs/developer/rest/endpoints" "/api/v0/models has the state and the longest context";
    StudioCuts Reported "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1806" "a question that is too long is cut without a word";
    StudioUnknownPath Reported "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618" "a path that it does not have is 200 with an error";
    VllmLength Guess "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html" "/v1/models has max_model_len, the context in force";
    VllmContinues Doc "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html" "continue_final_message goes on with a last message of the assistant";
    VllmTooLong Reported "https://github.com/vllm-project/vllm/issues/20409" "a question that is too long is 400 with both numbers in a sentence";

    // The fakes themselves.
    Tokens Guess "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "a token is a word with the space before it; real ones are shorter";
    TemplateTags Guess "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" "a role is one token of the question";
}

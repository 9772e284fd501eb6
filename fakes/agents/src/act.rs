//! What an agent does, one thing at a time. An act is data; its player has the clock and the pipes.

/// A signal that a fake gets or dies of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
    /// SIGSEGV.
    Segfault,
}

/// What the agent is busy with. It decides what a signal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It waits for its model, or streams what that says.
    Model,
    /// A tool runs: its number in the answer.
    Tool(usize),
    /// Its terminal interface is open.
    Terminal,
}

/// One thing that an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Nothing happens for so long.
    Wait {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Bytes on stdout.
    Out(Vec<u8>),
    /// Bytes on stderr.
    Err(Vec<u8>),
    /// It reads stdin to its end. The plan is then made again with what came.
    ReadInput {
        /// How long it waits for the first byte; without it, for ever.
        at_most_ms: Option<u64>,
    },
    /// From here on it speaks the Agent Client Protocol over stdin and stdout.
    SpeakAcp,
    /// It starts a process that hangs and holds stdout and stderr open.
    Child {
        /// The process leads a session and a group of its own.
        leaves_group: bool,
        /// The process ignores SIGTERM.
        ignores_term: bool,
    },
    /// It writes a file of the user.
    Write {
        /// Where.
        path: std::path::PathBuf,
        /// What the file holds then.
        text: String,
    },
    /// It adds a text to a file of its own store.
    Store {
        /// The file, below the store's folder.
        path: String,
        /// What is added.
        text: String,
    },
    /// From here on it is busy with this.
    Enter(Phase),
    /// It ends with this code.
    Exit(u8),
    /// It dies of this signal.
    Die(Signal),
    /// It does nothing more and does not end.
    Hang,
}

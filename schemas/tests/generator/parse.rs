//! The grammar of the wire source. It knows no protocol version: ranges are kept, and applied when a schema
//! is emitted.

use super::lex::{Range, Token, tokens};

/// A shape of a JSON value.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Any,
    /// A JSON type by name, with its bounds or format if any.
    Plain(String, Option<String>),
    /// A string or an integer that must be exactly this.
    Const(serde_json::Value),
    Named(String),
    /// The shape of the items, and bounds on their number.
    Array(Box<Type>, Option<String>),
    /// An object whose values all have one shape.
    Map(Box<Type>),
    Object(Vec<Member>),
    OneOf(Vec<Type>),
    All(Vec<Type>),
}

/// A line inside an object.
#[derive(Clone, Debug)]
pub(crate) enum Member {
    Include { name: String, range: Range },
    Field { name: String, optional: bool, shape: Type, range: Range },
}

/// The role of a definition on the wire.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// A part of messages.
    Part,
    Message {
        sender: String,
        method: String,
        result: Option<String>,
        extension: Option<String>,
        forced: bool,
    },
    Error {
        code: i64,
    },
}

/// A named definition for a range of versions.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) range: Range,
    pub(crate) role: Role,
    pub(crate) shape: Type,
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
}

/// Reads one source file.
pub(crate) fn definitions(source: &str) -> Result<Vec<Definition>, String> {
    let mut reader = Reader { tokens: tokens(source)?, at: 0 };
    let mut out: Vec<Definition> = Vec::new();
    while reader.peek().is_some() {
        if reader.take(&Token::Line) {
            continue;
        }
        let line = reader.line();
        let mut definition = reader.definition().map_err(|e| format!("line {line}: {e}"))?;
        // Definitions of one name for several versions may share the text of the first.
        if definition.about.is_empty()
            && let Some(last) = out.last().filter(|d| d.name == definition.name)
        {
            definition.about.clone_from(&last.about);
        }
        out.push(definition);
    }
    Ok(out)
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(line, _)| *line)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &'static str) -> bool {
        self.take(&Token::Symbol(symbol))
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.take(&Token::Word(word.to_owned()))
    }

    fn word(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(format!("a name is missing before {other:?}")),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Text(text)) => Ok(text),
            other => Err(format!("a quoted text is missing before {other:?}")),
        }
    }

    fn range(&mut self) -> Option<Range> {
        match self.peek() {
            Some(Token::Range(range)) => {
                let range = range.clone();
                self.at += 1;
                Some(range)
            }
            _ => None,
        }
    }

    fn definition(&mut self) -> Result<Definition, String> {
        let mut about = String::new();
        while let Some(Token::Doc(doc)) = self.peek() {
            about.push_str(doc);
            self.at += 1;
        }
        let first = self.word()?;
        let (name, role) = match first.as_str() {
            "host" | "server" | "both" => {
                let kind = self.word()?;
                let name = self.word()?;
                let method = self.text()?;
                let result = if self.symbol("->") { Some(self.word()?) } else { None };
                let result = match kind.as_str() {
                    "request" => result.or_else(|| Some(name.replace("Request", "Result"))),
                    "notification" => None,
                    _ => return Err(format!("`{kind}` is neither a request nor a notification")),
                };
                let extension = if self.keyword("extension") { Some(self.text()?) } else { None };
                let forced = self.keyword("params");
                (name, Role::Message { sender: first, method, result, extension, forced })
            }
            "error" => {
                let name = self.word()?;
                let code = self.word()?.parse().map_err(|e| format!("error code: {e}"))?;
                (name, Role::Error { code })
            }
            _ => (first, Role::Part),
        };
        let range = self.range().unwrap_or_default();
        let shape = if self.symbol("=") {
            self.shape()?
        } else if self.symbol("{") {
            self.members()?
        } else {
            Type::Object(Vec::new())
        };
        let range = self.range().unwrap_or(range);
        Ok(Definition { name, about, range, role, shape })
    }

    fn members(&mut self) -> Result<Type, String> {
        let mut members = Vec::new();
        loop {
            if self.symbol("}") {
                return Ok(Type::Object(members));
            }
            if self.take(&Token::Line) {
                continue;
            }
            if self.symbol("...") {
                let name = self.word()?;
                members.push(Member::Include { name, range: self.range().unwrap_or_default() });
                continue;
            }
            let name = self.word()?;
            let optional = self.symbol("?");
            let range = self.range();
            let shape = self.shape()?;
            let range = range.or_else(|| self.range()).unwrap_or_default();
            members.push(Member::Field { name, optional, shape, range });
        }
    }

    fn shape(&mut self) -> Result<Type, String> {
        let first = self.single()?;
        let mut parts = vec![first];
        while self.symbol("|") {
            parts.push(self.single()?);
        }
        if parts.len() > 1 {
            return Ok(Type::OneOf(parts));
        }
        while self.symbol("&") {
            parts.push(self.single()?);
        }
        Ok(if parts.len() > 1 { Type::All(parts) } else { parts.remove(0) })
    }

    fn single(&mut self) -> Result<Type, String> {
        match self.next() {
            Some(Token::Symbol("{")) if self.peek() == Some(&Token::Line) => self.members(),
            Some(Token::Symbol("{")) => {
                let values = self.shape()?;
                if self.symbol("}") { Ok(Type::Map(Box::new(values))) } else { Err("`}` is missing".into()) }
            }
            Some(Token::Symbol("[")) => {
                let items = self.shape()?;
                if !self.symbol("]") {
                    return Err("`]` is missing".into());
                }
                Ok(Type::Array(Box::new(items), self.angle()))
            }
            Some(Token::Text(text)) => Ok(Type::Const(text.into())),
            Some(Token::Word(word)) => Ok(match word.as_str() {
                "any" => Type::Any,
                "string" | "integer" | "number" | "boolean" | "null" | "object" => {
                    let detail = self.angle();
                    Type::Plain(word, detail)
                }
                _ => Type::Named(word),
            }),
            other => Err(format!("a type is missing before {other:?}")),
        }
    }

    fn angle(&mut self) -> Option<String> {
        match self.peek() {
            Some(Token::Angle(text)) => {
                let text = text.clone();
                self.at += 1;
                Some(text)
            }
            _ => None,
        }
    }
}

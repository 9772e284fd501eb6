//! What is written into a context file: a section with its author, and what a new file says of its project.
//! It must never hold the form in which it is written.

/// Who writes a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author<'a> {
    /// The person at the keyboard.
    Person,
    /// An agent, by its name.
    Agent(&'a str),
}

/// A new section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it says.
    pub content: &'a str,
    /// Its title; its time if there is none.
    pub title: Option<&'a str>,
    /// Who writes it.
    pub author: Author<'a>,
}

/// What a new context file says of its project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Project<'a> {
    /// Its name; nothing is said if it is empty.
    pub name: &'a str,
    /// What it is.
    pub description: Option<&'a str>,
}

//! How each part looks: sixteen colours, or none.
//!
//! Without colour everything that a colour says is said by a word, a mark or bold too.

use ratatui::style::{Color, Modifier, Style};

/// A part of the screen that has a look of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The line at the top.
    Head,
    /// The label of the person.
    You,
    /// The label of a host; the number picks its colour.
    Host(usize),
    /// The label of the model.
    Model,
    /// What is said.
    Text,
    /// A tool call.
    Tool,
    /// What is said beside the conversation.
    Aside,
    /// What is wrong.
    Trouble,
    /// What waits for the person.
    Asks,
    /// The task that is worked on.
    Active,
}

const HOSTS: [Color; 3] = [Color::Magenta, Color::Yellow, Color::Blue];

/// The look of all parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    has_colour: bool,
}

impl Theme {
    /// With colours.
    pub const COLOUR: Self = Self { has_colour: true };
    /// Without.
    pub const PLAIN: Self = Self { has_colour: false };

    /// The theme for a value of `NO_COLOR`: any but the empty one means none.
    pub fn by(no_color: Option<&str>) -> Self {
        Self { has_colour: no_color.is_none_or(str::is_empty) }
    }

    /// Whether it has colours.
    pub fn has_colour(self) -> bool {
        self.has_colour
    }

    /// The look of a part.
    pub fn style(self, part: Part) -> Style {
        let plain = Style::new();
        let (colour, style) = match part {
            Part::Head => (None, plain.add_modifier(Modifier::REVERSED)),
            Part::You => (Some(Color::Cyan), plain.add_modifier(Modifier::BOLD)),
            Part::Host(number) => {
                (HOSTS.get(number % HOSTS.len()).copied(), plain.add_modifier(Modifier::BOLD))
            }
            Part::Model => (Some(Color::Green), plain.add_modifier(Modifier::BOLD)),
            Part::Text => (None, plain),
            Part::Tool => (Some(Color::Blue), plain),
            Part::Aside => (None, plain.add_modifier(Modifier::DIM)),
            Part::Trouble => (Some(Color::Red), plain.add_modifier(Modifier::BOLD)),
            Part::Asks => (Some(Color::Yellow), plain.add_modifier(Modifier::BOLD)),
            Part::Active => (Some(Color::Green), plain),
        };
        match colour.filter(|_| self.has_colour) {
            Some(colour) => style.fg(colour),
            None => style,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_means_none_unless_it_is_empty() {
        assert!(Theme::by(None).has_colour() && Theme::by(Some("")).has_colour());
        assert!(!Theme::by(Some("0")).has_colour());
        let parts =
            [Part::You, Part::Host(1), Part::Model, Part::Tool, Part::Trouble, Part::Asks, Part::Active];
        assert!(parts.into_iter().all(|part| Theme::PLAIN.style(part).fg.is_none()));
        assert!(parts.into_iter().all(|part| Theme::COLOUR.style(part).fg.is_some()));
    }
}

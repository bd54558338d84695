//! Just enough of Rust's syntax: text without comments and strings, and the paths in it.

/// `text` with comments and string literals replaced by blanks; line breaks stay.
pub fn code_of(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kept, skipped) = if rest.starts_with("//") {
            (0, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (0, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if let Some(hashes) = raw_string(rest) {
            let (start, end) = (rest.find('"').unwrap_or(0) + 1, format!("\"{}", "#".repeat(hashes)));
            (0, rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()))
        } else if first == '"' {
            (0, string_length(rest))
        } else if rest.starts_with("'\"'") {
            (0, 3)
        } else if rest.starts_with("'\\") {
            (0, rest.get(3..).and_then(|rest| rest.find('\'')).map_or(rest.len(), |at| at + 4))
        } else {
            (first.len_utf8(), first.len_utf8())
        };
        out.push_str(&rest[..kept]);
        if kept == 0 {
            out.push(' ');
            out.extend(rest[..skipped].chars().filter(|&c| c == '\n'));
        }
        rest = &rest[skipped.max(1)..];
    }
    out
}

/// Number of hashes of the raw string that `text` begins with.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Where `word` stands in `code` as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !code[..at].chars().next_back().is_some_and(is_part)
            && !code[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// First names behind a path's prefix that ends at `at`: one, or all of a `{…}` group.
pub fn names_at(code: &str, at: usize) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let rest = code[at..].trim_start();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut depth, mut items, mut item) = (0_usize, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => {
                depth = if c == '{' { depth + 1 } else { depth - usize::from(c == '}') };
                item.push(c);
            }
        }
    }
    items.push(item);
    items.iter().map(|item| name(item.trim())).filter(|name| !name.is_empty()).collect()
}

/// Number of the line that has byte `at`, counted from 1.
pub fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_code() {
        let text = "a // b\nc /* d\ne */ f \"g \\\" h\" i r#\"j \" k\"# l '\"' m '\\'' n 'o: p";
        assert_eq!(code_of(text).split_whitespace().collect::<String>(), "acfilmn'o:p");
        assert_eq!(code_of(text).matches('\n').count(), 2, "lines keep their numbers");
    }

    #[test]
    fn a_group_has_all_of_its_first_names() {
        assert_eq!(names_at("crate::{a, b::{c, d}, e as f,\n g::*};", 7), ["a", "b", "e", "g"]);
        assert_eq!(names_at("crate::a::b;", 7), ["a"]);
    }

    #[test]
    fn a_word_is_not_a_part_of_one() {
        assert_eq!(words("unsafe_code unsafe notunsafe", "unsafe").collect::<Vec<_>>(), [12]);
    }
}

//! Java properties files, as Kafka's tools take them.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use undercroft::storage::{BUNDLE_BYTES_MAX, read_small_file};

/// The pairs of the file at `path`.
///
/// # Errors
/// Why it can't be read or understood; the caller says which file it is.
pub fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    parse(&read_small_file(path, BUNDLE_BYTES_MAX).map_err(|error| error.to_string())?)
}

/// The pairs of a file, in its order. Java reads such files as ISO-8859-1, and so does this.
///
/// # Errors
/// The number of the line, and what is wrong there.
fn parse(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text: String = bytes.iter().copied().map(char::from).collect();
    let mut pairs = Vec::new();
    for (number, line) in logical_lines(&text) {
        let mut chars = line.chars().peekable();
        let read = || -> Result<(String, String), &'static str> {
            let name = unescape(&mut chars, |c| matches!(c, '=' | ':') || is_blank(c))?;
            skip_blanks(&mut chars);
            if chars.next_if(|&c| matches!(c, '=' | ':')).is_some() {
                skip_blanks(&mut chars);
            }
            Ok((name, unescape(&mut chars, |_| false)?))
        };
        pairs.push({ read }().map_err(|why| format!("line {number}: {why}"))?);
    }
    Ok(pairs)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

fn skip_blanks(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|&c| is_blank(c)).is_some() {}
}

/// Lines with a value, each with the number of its first one; those that end in a backslash joined with the next.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (at, line) in text.split('\n').enumerate() {
        let line = line.trim_start_matches(is_blank);
        if !is_continued && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        let goes_on = backslashes % 2 == 1;
        let line = if goes_on { &line[..line.len() - 1] } else { line };
        match lines.last_mut().filter(|_| is_continued) {
            Some((_, begun)) => begun.push_str(line),
            None => lines.push((at + 1, line.to_owned())),
        }
        is_continued = goes_on;
    }
    lines
}

/// Text up to a character that ends it and is not escaped, which is left.
fn unescape(chars: &mut Peekable<Chars<'_>>, ends: impl Fn(char) -> bool) -> Result<String, &'static str> {
    let mut units: Vec<u16> = Vec::new();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next_if(|&c| !ends(c)) {
        let c = match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some('u') => {
                    units.push(unit(chars)?);
                    continue;
                }
                Some(other) => other,
                None => break,
            },
            c => c,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    String::from_utf16(&units).map_err(|_| "half of a surrogate pair")
}

fn unit(chars: &mut Peekable<Chars<'_>>) -> Result<u16, &'static str> {
    let digits: String = chars.by_ref().take(4).collect();
    let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex).ok_or("\\u without four hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syntax_of_java_is_understood() {
        // Source: the rules of `java.util.Properties.load`.
        for (text, name, value) in [
            ("a=b", "a", "b"),
            ("  a : b c ", "a", "b c "),
            ("a b", "a", "b"),
            ("a\t=\tb", "a", "b"),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("a==b", "a", "=b"),
            ("a\\=b\\:c\\ d = e", "a=b:c d", "e"),
            ("a=b \\\n   c", "a", "b c"),
            ("a=b\\\r\n # no comment", "a", "b# no comment"),
            ("a=b\\\\\nc=d", "a", "b\\"),
            ("a=\\t\\n\\u00e4\\u20AC\\q", "a", "\t\nä€q"),
            ("a=\\ud83d\\ude00", "a", "😀"),
            ("# c\n! c\n\n   \na=b", "a", "b"),
            (
                "sasl.jaas.config=org.x.PlainLoginModule required \\\n  username=\"u\" \\\n  password=\"p=:#!\";",
                "sasl.jaas.config",
                "org.x.PlainLoginModule required username=\"u\" password=\"p=:#!\";",
            ),
        ] {
            let pairs = parse(text.as_bytes()).expect("parses");
            assert_eq!(pairs[0], (name.to_owned(), value.to_owned()), "{text:?}");
        }
        assert_eq!(parse(b"a=\xe4").expect("parses")[0].1, "ä", "ISO-8859-1");
        assert_eq!(parse(b"\n# nothing\n"), Ok(Vec::new()));
    }

    #[test]
    fn a_wrong_escape_is_refused_with_its_line() {
        for text in ["a=b\nc=\\u12", "a=b\nc=\\u12g4", "a=b\nc=\\ud83d"] {
            let why = parse(text.as_bytes()).expect_err("refused");
            assert!(why.starts_with("line 2: "), "{why}");
        }
    }
}

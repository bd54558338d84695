//! Text of others on its way to somebody's eyes: nothing in it steers a terminal, and no secret is given away.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::key::HIDDEN;

/// Characters of a text that are looked at: whoever answers with megabytes doesn't keep us busy.
const READ_MAX: usize = 4000;
/// The shortest text that counts as a secret word behind `Bearer` and its like, and not as the next word of a sentence.
const WORD_MIN: usize = 16;
/// A secret that is looked for by itself has at least so many bytes: shorter ones would be found in words.
const SECRET_MIN: usize = 6;

/// What stands in front of secrets, in lower case.
const NAMES: &[&str] = &[
    "access_token",
    "accesskeysecret",
    "account_key",
    "accountkey",
    "assertion",
    "authorization",
    "client_assertion",
    "client_secret",
    "customer-key",
    "id_token",
    "password",
    "private_key",
    "refresh_token",
    "secret-access-key",
    "secret.access.key",
    "secret_access_key",
    "secretaccesskey",
    "secretkey",
    "security-token",
    "securitytoken",
    "session_token",
    "sessiontoken",
    "sharedaccesssignature",
    "sig",
    "signature",
];
/// What says that the next word is a secret.
const SCHEMES: &[&str] = &["bearer ", "basic ", "sharedkey ", "goog1 ", "aws "];

/// `text` with each character that a terminal would act on, or show nothing of, as `\n` or `\u001b`. JSON has these within
/// its strings, so JSON stays JSON.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    shown_but(text, |_| false)
}

/// As [`visible`], for text of several lines.
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    shown_but(text, |c| c == '\n')
}

fn shown_but(text: &str, is_left: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_acted_on(c) && !is_left(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if is_left(c) || !is_acted_on(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, "\\u{unit:04x}");
            }),
        }
    }
    Cow::Owned(out)
}

/// Control characters, what turns the direction of writing, ends of lines that are none, and what has no width.
fn is_acted_on(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What somebody else says, such as a store in its answer: at most `chars_max` characters, all of them visible, with marks in the
/// place of `secrets` and of whatever else looks like one.
#[must_use]
pub fn quoted(text: &str, secrets: &[String], chars_max: usize) -> String {
    let text = first(text, READ_MAX);
    let mut text = without_secrets(text);
    for secret in secrets.iter().filter(|secret| secret.len() >= SECRET_MIN) {
        if text.contains(secret.as_str()) {
            text = Cow::Owned(text.replace(secret.as_str(), HIDDEN));
        }
    }
    let text = visible(&text);
    let shown = first(&text, chars_max);
    if shown.len() < text.len() { format!("{shown}…") } else { shown.to_owned() }
}

fn first(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(cut, _)| &text[..cut])
}

/// `text` with a mark in the place of what looks like a secret: user names in URLs, signatures, tokens, keys.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < text.len() {
        let hidden = if text.is_char_boundary(at) { secret_at(text, &lower, at) } else { None };
        let Some((from, to)) = hidden else {
            at += 1;
            continue;
        };
        out.push_str(&text[copied..from]);
        out.push_str(HIDDEN);
        (copied, at) = (to, to.max(at + 1));
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// From where to where a secret goes that is announced at `at`.
fn secret_at(text: &str, lower: &str, at: usize) -> Option<(usize, usize)> {
    let rest = lower.get(at..)?;
    if let Some(after) = rest.strip_prefix("://") {
        let host = after.find(|c: char| matches!(c, '/' | '?' | '#' | '"' | '`' | '\'' | '<') || c.is_whitespace());
        let at = lower.len() - after.len();
        let end = after[..host.unwrap_or(after.len())].rfind('@')?;
        return Some((at, at + end));
    }
    if text[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    if let Some(scheme) = SCHEMES.iter().find(|scheme| rest.starts_with(**scheme)) {
        let from = at + scheme.len();
        let to = end_of(text, from, false);
        return (to - from >= WORD_MIN).then_some((from, to));
    }
    let name = NAMES.iter().find(|name| {
        let behind = rest.strip_prefix(**name).map(|behind| behind.trim_start_matches(['"', '\'', '\\', '`', ' ']));
        behind.is_some_and(|behind| behind.starts_with(['=', ':', '>']))
    })?;
    let is_filling = |c: char| matches!(c, '"' | '\'' | '\\' | '`' | ' ' | '=' | ':' | '>');
    let behind = rest[name.len()..].trim_start_matches(is_filling);
    let from = lower.len() - behind.len();
    let to = end_of(text, from, *name == "authorization");
    (to > from).then_some((from, to))
}

/// Where a value ends; one `of_words` has blanks and commas in it.
fn end_of(text: &str, from: usize, of_words: bool) -> usize {
    let ends = |c: char| match c {
        '"' | '\'' | '<' | '`' | '\\' | '\n' | '\r' => true,
        '&' | '>' | ',' | ';' | ')' | ']' | '}' => !of_words,
        _ => !of_words && c.is_whitespace(),
    };
    text[from..].find(ends).map_or(text.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for (text, shown) in [
            ("orders-1", "orders-1"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[31mred\u{7}", "\\u001b[31mred\\u0007"),
            ("\u{9b}2J\u{7f}", "\\u009b2J\\u007f"),
            ("left\u{202e}thgir", "left\\u202ethgir"),
            ("\u{e0041}x", "\\udb40\\udc41x"),
            ("zażółć ✓ 😀", "zażółć ✓ 😀"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
        assert_eq!(visible_lines("a\u{1b}\nb"), "a\\u001b\nb");
    }

    #[test]
    fn json_stays_json_and_says_the_same() {
        let value = serde_json::json!({"a": "\u{9b}x\u{202e}\n\u{e0041}"});
        let shown = visible_lines(&format!("{value:#}")).into_owned();
        assert!(!shown.contains(['\u{9b}', '\u{202e}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden_wherever_it_stands() {
        for (text, shown) in [
            ("X-Amz-Signature=abc123&X-Amz-Date=1", "X-Amz-Signature=[hidden]&X-Amz-Date=1"),
            ("https://a/b?sv=1&sig=a%2Bb%3D&se=2 refused", "https://a/b?sv=1&sig=[hidden]&se=2 refused"),
            (r#"{"x-amz-security-token": "FwoG/x=="}"#, r#"{"x-amz-security-token": "[hidden]"}"#),
            (r#"message: \"SessionToken\": \"abc\", x"#, r#"message: \"SessionToken\": \"[hidden]\", x"#),
            ("<SecretAccessKey>abc</SecretAccessKey>", "<SecretAccessKey>[hidden]</SecretAccessKey>"),
            (
                "Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=ab\nHost: b",
                "Authorization: [hidden]\nHost: b",
            ),
            ("sent Bearer ya29.abcdefghijklmnop now", "sent Bearer [hidden] now"),
            ("AccountName=a;AccountKey=Eby8==;X=y", "AccountName=a;AccountKey=[hidden];X=y"),
            ("http://user:pw@host:9000/b?x@y", "http://[hidden]@host:9000/b?x@y"),
            ("https://u:p@ss@host", "https://[hidden]@host"),
            // What only speaks of one.
            (
                "the signature we calculated does not match: check it",
                "the signature we calculated does not match: check it",
            ),
            ("Basic authentication is off, Bearer tokens too", "Basic authentication is off, Bearer tokens too"),
            ("design=1 http://host/a@b", "design=1 http://host/a@b"),
        ] {
            assert_eq!(without_secrets(text), shown, "{text}");
        }
    }

    #[test]
    fn what_somebody_else_says_is_short_visible_and_without_our_secrets() {
        let secrets = ["s3cr3t-value".to_owned(), "a".to_owned()];
        assert_eq!(quoted("you sent s3cr3t-value\u{1b}c, a", &secrets, 300), "you sent [hidden]\\u001bc, a");
        let long = quoted(&"ä".repeat(100_000), &[], 300);
        assert_eq!(long.chars().count(), 301);
        let cut_in_a_secret = format!("{}sig={}", "x ".repeat(140), "s".repeat(100_000));
        assert!(!quoted(&cut_in_a_secret, &[], 300).contains("sss"));
    }
}

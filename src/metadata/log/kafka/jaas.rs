//! `sasl.jaas.config`: one login module and its options, in the notation of Java's JAAS files.
//!
//! Tokens are those of Java's `StreamTokenizer` as Kafka's `JaasConfig` sets it up, except that an unquoted value may
//! begin with a digit here, which Java takes for a number and refuses.

use std::collections::BTreeMap;

/// What stands in `sasl.jaas.config`.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginModule {
    pub class: String,
    /// The options; values may be secret, so that this type has no `Debug`.
    pub options: BTreeMap<String, String>,
}

/// Parses a client's JAAS configuration. The error says what is wrong and repeats nothing of the text, as it holds a
/// password.
pub fn parse(text: &str) -> Result<LoginModule, String> {
    let mut tokens = tokenize(text)?.into_iter();
    let class = match tokens.next() {
        Some(Token::Text(class)) => class,
        _ => return Err("login module not specified".to_owned()),
    };
    match tokens.next() {
        Some(Token::Text(flag))
            if ["required", "requisite", "sufficient", "optional"].contains(&flag.to_ascii_lowercase().as_str()) => {}
        _ => return Err("the login module's control flag (`required`) is missing".to_owned()),
    }
    let mut options = BTreeMap::new();
    loop {
        let name = match tokens.next() {
            Some(Token::Sign(';')) => break,
            Some(Token::Text(name)) => name,
            Some(Token::Sign(_)) => return Err("an option's name was expected".to_owned()),
            None => return Err("not terminated by a semicolon".to_owned()),
        };
        match (tokens.next(), tokens.next()) {
            (Some(Token::Sign('=')), Some(Token::Text(value))) => options.insert(name, value),
            _ => return Err(format!("no value for the option `{name}`; put values into double quotes")),
        };
    }
    if tokens.next().is_some() {
        return Err("more than one login module; a client has exactly one".to_owned());
    }
    Ok(LoginModule { class, options })
}

enum Token {
    /// A bare word, or what stood between quotes.
    Text(String),
    Sign(char),
}

fn tokenize(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c <= ' ' => {}
            '/' if rest.peek() == Some(&'*') => {
                let mut previous = ' ';
                rest.by_ref().skip(1).find(|&c| std::mem::replace(&mut previous, c) == '*' && c == '/');
            }
            '/' => {
                rest.by_ref().find(|&c| c == '\n' || c == '\r');
            }
            '"' | '\'' => tokens.push(Token::Text(quoted(c, &mut rest)?)),
            c if is_word(c) => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|&c| is_word(c)) {
                    word.push(c);
                }
                tokens.push(Token::Text(word));
            }
            c => tokens.push(Token::Sign(c)),
        }
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$' | '.') || c >= '\u{a0}'
}

/// The text up to the closing `quote`, with Java's escapes.
fn quoted(quote: char, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, String> {
    let mut text = String::new();
    loop {
        match rest.next() {
            Some(c) if c == quote => return Ok(text),
            None | Some('\n' | '\r') => return Err("a quoted value has no closing quote".to_owned()),
            Some('\\') => match rest.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('a') => text.push('\x07'),
                Some('b') => text.push('\x08'),
                Some('f') => text.push('\x0c'),
                Some('v') => text.push('\x0b'),
                Some(first @ '0'..='7') => text.push(octal(first, rest)),
                Some(c) => text.push(c),
                None => return Err("a quoted value has no closing quote".to_owned()),
            },
            Some(c) => text.push(c),
        }
    }
}

/// Up to three octal digits, the first at most 3 if there are three.
fn octal(first: char, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> char {
    let digits = if first <= '3' { 2 } else { 1 };
    let mut code = first.to_digit(8).unwrap_or(0);
    for _ in 0..digits {
        let Some(digit) = rest.next_if(|c| ('0'..='7').contains(c)) else { break };
        code = code * 8 + digit.to_digit(8).unwrap_or(0);
    }
    char::from_u32(code).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(text: &str, name: &str) -> String {
        parse(text).map(|module| module.options[name].clone()).unwrap()
    }

    #[test]
    fn reads_what_the_kafka_documentation_shows() {
        let text = "org.apache.kafka.common.security.plain.PlainLoginModule required \\
            username=\"alice\" \\
            password=\"alice-secret\";"
            .replace("\\\n", "\n");
        let module = parse(&text).unwrap();
        assert_eq!(module.class, "org.apache.kafka.common.security.plain.PlainLoginModule");
        assert_eq!(module.options["username"], "alice");
        assert_eq!(module.options["password"], "alice-secret");
    }

    #[test]
    fn a_quoted_value_keeps_signs_and_takes_escapes() {
        assert_eq!(option(r#"a.B required password="x;=\"y\\ \101z//";"#, "password"), "x;=\"y\\ Az//");
        assert_eq!(option(r#"a.B required password='it "is"';"#, "password"), "it \"is\"");
        assert_eq!(option("a.B required password=\"пароль\";", "password"), "пароль");
    }

    #[test]
    fn a_bare_value_may_hold_digits_and_dashes() {
        assert_eq!(option("a.B REQUIRED password=abc-1_2$3.x;", "password"), "abc-1_2$3.x");
        assert_eq!(option("a.B required password=1abc;", "password"), "1abc");
    }

    #[test]
    fn comments_are_passed_over() {
        assert_eq!(option("/* a; */ a.B required // b;\n password=c /* d **/ ;", "password"), "c");
    }

    #[test]
    fn what_java_refuses_is_refused_without_repeating_it() {
        for text in [
            "",
            "a.B",
            "a.B username=x;",
            "a.B required password=SECRET",
            "a.B required password=;",
            "a.B required password=\"SECRET;",
            "a.B required password=SECRET; a.C required;",
            "a.B required password SECRET;",
        ] {
            let why = parse(text).err().unwrap();
            assert!(!why.contains("SECRET"), "{why}");
        }
    }
}

package io.undercroft.kafka;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the two lists that the core hands out: an array of objects. Everything is kept as text; null is left out. A field
 * {@code b} of an object in field {@code a} is called {@code a.b}.
 */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static List<Map<String, String>> objects(String text) {
        return new Json(text).array();
    }

    private List<Map<String, String>> array() {
        List<Map<String, String>> objects = new ArrayList<>();
        expect('[');
        if (!accept(']')) {
            do {
                Map<String, String> fields = new LinkedHashMap<>();
                object("", fields);
                objects.add(fields);
            } while (accept(','));
            expect(']');
        }
        return objects;
    }

    private void object(String prefix, Map<String, String> fields) {
        expect('{');
        if (accept('}')) {
            return;
        }
        do {
            String name = prefix + string();
            expect(':');
            if (peek() == '{') {
                object(name + ".", fields);
                continue;
            }
            String value = peek() == '"' ? string() : word();
            if (!"null".equals(value)) {
                fields.put(name, value);
            }
        } while (accept(','));
        expect('}');
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        for (char c = take(); c != '"'; c = take()) {
            out.append(c == '\\' ? escaped() : c);
        }
        return out.toString();
    }

    private char escaped() {
        char c = take();
        switch (c) {
            case 'n': return '\n';
            case 't': return '\t';
            case 'r': return '\r';
            case 'b': return '\b';
            case 'f': return '\f';
            case 'u':
                if (at + 4 > text.length()) {
                    throw malformed();
                }
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default: return c;
        }
    }

    private String word() {
        int from = at;
        while (at < text.length() && ",}] \n\t\r".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        return text.substring(from, at);
    }

    private char take() {
        if (at >= text.length()) {
            throw malformed();
        }
        return text.charAt(at++);
    }

    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        if (at >= text.length()) {
            throw malformed();
        }
        return text.charAt(at);
    }

    private boolean accept(char wanted) {
        if (peek() != wanted) {
            return false;
        }
        at++;
        return true;
    }

    private void expect(char wanted) {
        if (!accept(wanted)) {
            throw malformed();
        }
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("malformed JSON at " + at + ": " + text);
    }
}

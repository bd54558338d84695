package io.undercroft.kafka;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import org.apache.kafka.common.config.types.Password;

/** A broker's map of settings as pairs of text. Which keys there are, and what they may hold, is the core's business. */
final class ConfigTranslation {
    private ConfigTranslation() {
    }

    /** Keys without a value are left out; the rest is sorted, so that messages come in the same order every time. */
    static Map<String, String> texts(Map<String, ?> configs) {
        Map<String, String> texts = new TreeMap<>();
        configs.forEach((key, value) -> {
            if (value != null) {
                texts.put(key, text(value));
            }
        });
        return texts;
    }

    /** A native configuration; the caller's to free. */
    static long toNative(Map<String, String> texts) throws NativeException {
        long config = NativeConfig.create();
        boolean complete = false;
        try {
            for (Map.Entry<String, String> pair : texts.entrySet()) {
                NativeConfig.set(config, utf8(pair.getKey()), utf8(pair.getValue()));
            }
            complete = true;
            return config;
        } finally {
            if (!complete) {
                NativeConfig.free(config);
            }
        }
    }

    private static String text(Object value) {
        if (value instanceof Password) {
            return ((Password) value).value();
        }
        if (value instanceof Collection) {
            return ((Collection<?>) value).stream().map(ConfigTranslation::text).collect(Collectors.joining(","));
        }
        return value instanceof Class ? ((Class<?>) value).getName() : value.toString();
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}

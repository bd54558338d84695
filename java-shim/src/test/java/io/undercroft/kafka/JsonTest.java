package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void objectsAreReadAndThoseWithinThemAreFlattened() {
        assertEquals(List.of(), Json.objects(" [ ] "));
        assertEquals(List.of(Map.of("a", "x\"\\\n\u00e9", "c", "12.5"), Map.of()),
            Json.objects("[{\"a\": \"x\\\"\\\\\\n\\u00e9\", \"b\":null , \"c\":12.5}, {}]"));
        assertEquals(List.of(Map.of("a", "1", "l.name", "topic", "l.value", "}", "z", "2")),
            Json.objects("[{\"a\":1,\"l\":{\"name\":\"topic\",\"value\":\"}\"},\"z\":2}]"));
    }

    @Test
    void whatIsCutOffIsRefused() {
        String whole = "[{\"a\":\"\\u00e9\",\"b\":1,\"c\":{\"d\":2}}]";
        for (int length = 0; length < whole.length(); length++) {
            String cut = whole.substring(0, length);
            assertThrows(IllegalArgumentException.class, () -> Json.objects(cut), cut);
        }
    }
}

package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.config.types.Password;
import org.junit.jupiter.api.Test;

class ConfigTranslationTest {
    @Test
    void valuesBecomeTextAndPasswordsAreTakenOutOfTheirCover() {
        Map<String, Object> configs = new HashMap<>();
        configs.put("broker.id", 1);
        configs.put("secret", new Password("s3cret"));
        configs.put("list", List.of("a", 2));
        configs.put("jaas", "org.X required username=\"a\" password=\"b\";");
        configs.put("nothing", null);
        assertEquals(Map.of("broker.id", "1", "secret", "s3cret", "list", "a,2",
            "jaas", "org.X required username=\"a\" password=\"b\";"), ConfigTranslation.texts(configs));
    }
}

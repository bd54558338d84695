package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

class HeaderTest {
    private static String header() throws Exception {
        return Files.readString(Path.of(System.getProperty("undercroft.test.header")));
    }

    private static String find(String regex) throws Exception {
        Matcher matcher = Pattern.compile(regex).matcher(header());
        assertTrue(matcher.find(), regex);
        return matcher.group(1);
    }

    @Test
    void statusesAreThoseOfTheHeader() throws Exception {
        Map<String, Integer> declared = new TreeMap<>();
        Matcher matcher = Pattern.compile("\\bUC_(OK|ERR_[A-Z_]+) = (\\d+)").matcher(header());
        while (matcher.find()) {
            declared.put(matcher.group(1).replaceFirst("^ERR_", ""), Integer.valueOf(matcher.group(2)));
        }
        Map<String, Integer> ours = new TreeMap<>();
        for (Field field : Status.class.getDeclaredFields()) {
            if (!field.isSynthetic()) {
                ours.put(field.getName(), field.getInt(null));
                assertEquals(field.getName(), Status.name(field.getInt(null)));
            }
        }
        assertEquals(declared, ours);
    }

    @Test
    void theAbiIsThatOfTheHeader() throws Exception {
        String declared = find("#define UC_ABI_VERSION (\\d+)");
        assertEquals(declared, String.valueOf(NativeVersion.ABI));
        assertEquals(declared, System.getProperty("undercroft.test.abi"));
    }

    @Test
    void theVersionIsThatOfTheHeader() throws Exception {
        assertEquals(find("#define UNDERCROFT_VERSION \"([^\"]+)\""), System.getProperty("undercroft.test.version"));
    }
}

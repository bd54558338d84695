package io.undercroft.kafka;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Beans and attributes that Aiven's plugin has, and what of ours each is made of. The table is a file in the jar, from which
 * the reference of metrics is made too.
 */
final class AivenTable {
    private static final String FILE = "aiven-metrics.txt";

    private AivenTable() {
    }

    /** What an attribute shows. */
    enum Form { TOTAL, RATE, AVERAGE, LONGEST }

    /** A number of ours: a metric's name, with the value of its label, or {@code *} for the sum of all, behind a blank. */
    static final class Source {
        private static final String ALL = " *";
        private final String name;

        Source(String name) {
            this.name = name.trim();
        }

        /** Zero if there is no such number: it comes with its topic. */
        double of(Map<String, Double> values, String topic) {
            if (name.endsWith(ALL)) {
                String front = name.substring(0, name.length() - 1);
                return values.entrySet().stream().filter(one -> one.getKey().startsWith(front)).mapToDouble(Map.Entry::getValue).sum();
            }
            return values.getOrDefault(topic == null ? name : name + " " + topic, 0.0);
        }
    }

    /** One attribute. */
    static final class Attribute {
        final String name;
        final Form form;
        final double factor;
        /** Of an average what is divided, then by what; of a total what it is, then what is taken off. */
        final List<Source> sources;

        Attribute(String name, Form form, double factor, List<Source> sources) {
            this.name = name;
            this.form = form;
            this.factor = factor;
            this.sources = sources;
        }
    }

    /** One bean, or one for each topic. */
    static final class Bean {
        private static final String OF_TOPICS = ",topic=*";
        final String name;
        final boolean ofTopics;
        private final String store;
        final List<Attribute> attributes = new ArrayList<>();

        private Bean(String name, String store) {
            this.ofTopics = name.endsWith(OF_TOPICS);
            this.name = ofTopics ? name.substring(0, name.length() - OF_TOPICS.length()) : name;
            this.store = store;
        }

        boolean isOf(String backend) {
            return store == null || backend.contains(store);
        }
    }

    static List<Bean> read() throws IOException {
        List<Bean> beans = new ArrayList<>();
        try (InputStream in = AivenTable.class.getResourceAsStream(FILE)) {
            if (in == null) {
                throw new IOException(FILE + " is not in the jar");
            }
            BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                take(line, beans);
            }
        }
        return beans;
    }

    private static void take(String line, List<Bean> beans) {
        String[] words = line.split(" ", 2);
        if (words.length < 2) {
            return;
        }
        if ("bean".equals(words[0])) {
            String[] parts = words[1].split(" if ");
            beans.add(new Bean(parts[0].trim(), parts.length > 1 ? parts[1].trim() : null));
            return;
        }
        String[] parts = words[1].split(" = ", 2);
        if (parts.length < 2) {
            return;
        }
        String stem = parts[0].trim();
        List<Attribute> attributes = beans.isEmpty() ? new ArrayList<>() : beans.get(beans.size() - 1).attributes;
        List<Source> sources = new ArrayList<>();
        String[] told = parts[1].split(" \\* ", 2);
        double factor = told.length > 1 ? Double.parseDouble(told[1].trim()) : 1;
        for (String source : told[0].split(", | - ")) {
            sources.add(new Source(source));
        }
        // Ours are microseconds, theirs milliseconds.
        double ms = 0.001;
        switch (words[0]) {
            case "count":
                attributes.add(new Attribute(stem + "-rate", Form.RATE, factor, sources));
                attributes.add(new Attribute(stem + "-total", Form.TOTAL, factor, sources));
                break;
            case "total":
                attributes.add(new Attribute(stem, Form.TOTAL, factor, sources));
                break;
            case "time":
                attributes.add(new Attribute(stem + "-max", Form.LONGEST, ms, sources.subList(2, 3)));
                attributes.add(new Attribute(stem + "-avg", Form.AVERAGE, ms, sources.subList(0, 2)));
                break;
            case "avg":
                attributes.add(new Attribute(stem + "-avg", Form.AVERAGE, ms, sources));
                break;
            default:
                break;
        }
    }
}

package io.undercroft.kafka;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One open manager of the core: its handle, its share of the pump, its metrics. */
final class Session {
    private static final Logger LOG = LoggerFactory.getLogger(Session.class);
    private static final String AIVEN_NAMES = "metrics.aiven.names";
    private static final int CLOSE_MS_MAX = 30_000;

    private final Side side;
    private final long handle;
    private final Pump pump;
    private final MetricsBean metrics;
    /** Null unless asked for. */
    private final AivenBeans aivenNames;
    /** Lets beans of topics come and go. */
    private final Runnable round;

    private Session(Side side, long handle, Pump pump, MetricsBean metrics, AivenBeans aivenNames) {
        this.side = side;
        this.handle = handle;
        this.pump = pump;
        this.metrics = metrics;
        this.aivenNames = aivenNames;
        this.round = () -> {
            if (metrics != null) {
                metrics.refresh();
            }
            if (aivenNames != null) {
                aivenNames.refresh();
            }
        };
        pump.rounds().add(round);
    }

    /** Loads the libraries and opens a manager; what was begun is undone if it fails. */
    static Session open(Side side, Map<String, ?> configs) throws NativeException {
        NativeLibrary.load();
        Map<String, String> texts = ConfigTranslation.texts(configs);
        String brokerId = texts.getOrDefault("broker.id", "none");
        side.brokerFacts().forEach(texts::putIfAbsent);
        JavaStores.toPem(texts);
        Pump pump = Pump.acquire();
        boolean opened = false;
        try {
            long handle = openNative(side, texts);
            MetricsBean metrics = null;
            try {
                metrics = MetricsBean.register(side.title, brokerId, side.metrics(handle));
                opened = true;
            } finally {
                if (!opened) {
                    side.free(handle);
                }
            }
            LOG.info("The {} side of Undercroft {} is open", side.title, NativeVersion.coreVersion());
            return new Session(side, handle, pump, metrics, aivenNames(side, texts, metrics));
        } finally {
            if (!opened) {
                Pump.release();
            }
        }
    }

    private static AivenBeans aivenNames(Side side, Map<String, String> texts, MetricsBean metrics) {
        boolean isOn = side == Side.STORAGE && Boolean.parseBoolean(texts.getOrDefault(AIVEN_NAMES, "false").trim());
        String backend = texts.getOrDefault("storage.backend.class", "").toLowerCase(Locale.ROOT);
        return isOn && metrics != null ? AivenBeans.register(metrics::numbers, backend, System::nanoTime) : null;
    }

    private static long openNative(Side side, Map<String, String> texts) throws NativeException {
        long config = ConfigTranslation.toNative(texts);
        try {
            byte[] warnings = NativeConfig.check(config, side.number);
            if (side.leavesWarningsToUs) {
                warn(warnings);
            }
            return side.open(config);
        } finally {
            NativeConfig.free(config);
        }
    }

    private static void warn(byte[] warnings) {
        if (warnings == null) {
            return;
        }
        for (Map<String, String> warning : Json.objects(new String(warnings, StandardCharsets.UTF_8))) {
            String meant = warning.get("did_you_mean");
            LOG.warn("Unknown key {}{}: nothing reads it", warning.get("key"),
                meant == null ? "" : " (did you mean " + meant + "?)");
        }
    }

    long handle() {
        return handle;
    }

    Completions completions() {
        return pump.completions();
    }

    OpenStreams streams() {
        return pump.streams();
    }

    MetricsBean metrics() {
        return metrics;
    }

    /** Ends what runs, waits for it, and leaves no thread. */
    void close() {
        try {
            pump.streams().closeAll(handle);
            side.close(handle, CLOSE_MS_MAX);
        } catch (NativeException failed) {
            LOG.warn("The {} side did not close in order", side.title, failed);
        } finally {
            pump.rounds().remove(round);
            if (aivenNames != null) {
                aivenNames.unregister();
            }
            if (metrics != null) {
                metrics.unregister();
            }
            side.free(handle);
            Pump.release();
        }
    }
}

package io.undercroft.kafka;

import java.nio.charset.StandardCharsets;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hands records of the core's log to SLF4J, under {@code io.undercroft.<room>}. Used by the pump's thread only. */
final class LogBridge {
    private static final String ROOT = "io.undercroft";
    private static final int CAPACITY = 4096;
    private static final int BATCH = 1000;
    private static final int ERROR = 1;
    private static final int WARN = 2;
    private static final int INFO = 3;
    private static final int DEBUG = 4;
    private static final int TRACE = 5;

    private final Logger root = LoggerFactory.getLogger(ROOT);
    private final long[] head = new long[4];
    private final long log;
    private int level;

    LogBridge() throws NativeException {
        level = wantedLevel();
        log = NativeLog.open(level, CAPACITY);
    }

    /** Logs what there is, at most {@value #BATCH} records. */
    void drain() throws NativeException {
        for (int i = 0; i < BATCH; i++) {
            byte[] text = NativeLog.next(log, head);
            if (text == null) {
                return;
            }
            int targetLength = (int) head[3];
            String target = new String(text, 0, targetLength, StandardCharsets.UTF_8);
            String message = new String(text, targetLength, text.length - targetLength, StandardCharsets.UTF_8);
            if (head[2] > 0) {
                root.warn("{} log records were dropped: too many at once", head[2]);
            }
            write(LoggerFactory.getLogger(loggerName(target)), (int) head[0], message);
        }
    }

    /** Follows a change of the host's log configuration, so that the core makes no records that nobody reads. */
    void followLevel() throws NativeException {
        int wanted = wantedLevel();
        if (wanted != level) {
            NativeLog.setLevel(log, wanted);
            level = wanted;
        }
    }

    void close() {
        NativeLog.free(log);
    }

    /** {@code undercroft::storage::upload} is {@code io.undercroft.storage}; what others log is {@code io.undercroft.<crate>}. */
    static String loggerName(String target) {
        String[] path = target.split("::", 3);
        String room = "undercroft".equals(path[0]) && path.length > 1 ? path[1] : path[0];
        return room.isEmpty() || "undercroft".equals(room) ? ROOT : ROOT + "." + room;
    }

    private int wantedLevel() {
        if (root.isTraceEnabled()) {
            return TRACE;
        }
        if (root.isDebugEnabled()) {
            return DEBUG;
        }
        if (root.isInfoEnabled()) {
            return INFO;
        }
        return root.isWarnEnabled() ? WARN : ERROR;
    }

    private static void write(Logger logger, int level, String message) {
        switch (level) {
            case ERROR: logger.error("{}", message); break;
            case WARN: logger.warn("{}", message); break;
            case INFO: logger.info("{}", message); break;
            case DEBUG: logger.debug("{}", message); break;
            default: logger.trace("{}", message);
        }
    }
}

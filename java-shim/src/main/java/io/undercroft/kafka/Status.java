package io.undercroft.kafka;

/** Status codes of {@code undercroft.h}; a test compares every one with the header. */
final class Status {
    static final int OK = 0;
    static final int INVALID_ARGUMENT = 100;
    static final int CONFIG = 101;
    static final int CLOSED = 102;
    static final int TIMEOUT = 103;
    static final int CANCELLED = 104;
    static final int UNSUPPORTED = 105;
    static final int INTERNAL = 106;
    static final int NOT_FOUND = 200;
    static final int CORRUPT = 201;
    static final int UNREACHABLE = 202;
    static final int REFUSED = 203;
    static final int MISCONFIGURED = 204;
    static final int SOURCE = 205;
    static final int NOT_READY = 300;
    static final int NOT_ASSIGNED = 301;
    static final int UNKNOWN_SEGMENT = 302;
    static final int ILLEGAL_TRANSITION = 303;
    static final int LOG_MISMATCH = 304;
    static final int TOO_YOUNG = 305;

    private Status() {
    }

    static String name(int code) {
        switch (code) {
            case OK: return "OK";
            case INVALID_ARGUMENT: return "INVALID_ARGUMENT";
            case CONFIG: return "CONFIG";
            case CLOSED: return "CLOSED";
            case TIMEOUT: return "TIMEOUT";
            case CANCELLED: return "CANCELLED";
            case UNSUPPORTED: return "UNSUPPORTED";
            case INTERNAL: return "INTERNAL";
            case NOT_FOUND: return "NOT_FOUND";
            case CORRUPT: return "CORRUPT";
            case UNREACHABLE: return "UNREACHABLE";
            case REFUSED: return "REFUSED";
            case MISCONFIGURED: return "MISCONFIGURED";
            case SOURCE: return "SOURCE";
            case NOT_READY: return "NOT_READY";
            case NOT_ASSIGNED: return "NOT_ASSIGNED";
            case UNKNOWN_SEGMENT: return "UNKNOWN_SEGMENT";
            case ILLEGAL_TRANSITION: return "ILLEGAL_TRANSITION";
            case LOG_MISMATCH: return "LOG_MISMATCH";
            case TOO_YOUNG: return "TOO_YOUNG";
            default: return "status " + code;
        }
    }
}

package io.undercroft.broker;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Keys and values that follow from (partition, n) alone, so that a reader can tell each record's bytes without having
 * seen them written.
 */
public record Sample(int valueBytes) {
    public byte[] key(int partition, long n) {
        return ("p" + partition + "-" + n).getBytes(StandardCharsets.UTF_8);
    }

    /** Half noise and half text: neither free to compress nor hopeless. */
    public byte[] value(int partition, long n) {
        ByteBuffer b = ByteBuffer.allocate(valueBytes);
        long x = (n + 1) * 0x9E3779B97F4A7C15L ^ (partition + 1L) * 0xC2B2AE3D27D4EB4FL;
        while (b.remaining() >= 16) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            b.putLong(x);
            b.putLong(0x756e646572637266L); // eight letters
        }
        while (b.hasRemaining()) {
            b.put((byte) n);
        }
        return b.array();
    }

    /** Null if the record is the one expected at {@code n}, else what is wrong with it. */
    public String difference(int partition, long n, long offset, byte[] key, byte[] value) {
        if (offset != n) {
            return "partition " + partition + ": expected offset " + n + ", got " + offset;
        }
        if (!Arrays.equals(key, key(partition, n))) {
            return "partition " + partition + " offset " + offset + ": key is " + new String(key == null ? new byte[0] : key, StandardCharsets.UTF_8);
        }
        byte[] expected = value(partition, n);
        int at = Arrays.mismatch(expected, value);
        return at < 0 ? null : "partition " + partition + " offset " + offset + ": value differs at byte " + at
                + " (" + value.length + " bytes, expected " + expected.length + ")";
    }
}

package io.undercroft.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

import org.apache.kafka.common.KafkaException;

/** Library files on disk: in folders that only we can write to, and only with the content that they should have. */
final class NativeFiles {
    private static final int GROUP_OR_OTHERS_WRITE = 0022;
    /** Size of an ELF header, and where its fields are (System V ABI, chapter 4). */
    private static final int ELF_HEAD = 64;
    private static final int ELF_CLASS = 4;
    private static final int ELF_MACHINE = 18;
    private static final int ELF_SECTIONS = 40;
    private static final int ELF_SECTION_SIZE = 58;
    private static final int ELF_SECTION_COUNT = 60;
    private static final int ELF_MAGIC = 0x464c457f;
    private static final int ELF_64_BIT = 2;
    private static final int ELF_X86_64 = 62;

    /** Opens the bytes of a library. */
    interface Source {
        InputStream open() throws IOException;
    }

    private NativeFiles() {
    }

    /** A folder of mode 0700 that is ours, made if it isn't there. */
    static Path privateDirectory(Path directory) throws IOException {
        try {
            Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException exists) {
            boolean ours = Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
                && attribute(directory, "unix:uid").equals(ownerOfWhatWeMake(directory.toAbsolutePath().getParent()))
                && ((Integer) attribute(directory, "unix:mode") & GROUP_OR_OTHERS_WRITE) == 0;
            if (!ours) {
                throw new KafkaException(directory + " is not a folder that only this user can write to, and so no place for a "
                    + "library. Remove it, or choose another folder with -D" + NativeLibrary.DIR_PROPERTY + "=...");
            }
        }
        return directory;
    }

    /** The user that this process makes files as. What /proc says of it is root's, for its links and for some processes. */
    private static Object ownerOfWhatWeMake(Path directory) throws IOException {
        Path made = Files.createTempFile(directory, "undercroft-", ".owner");
        try {
            return attribute(made, "unix:uid");
        } finally {
            Files.deleteIfExists(made);
        }
    }

    /** Puts the library at {@code target}, unless it is there already; others may do so at the same time. */
    static void place(Source source, String sha256, Path target) throws IOException {
        if (Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS) && sha256.equals(sha256(target))) {
            return;
        }
        Path written = Files.createTempFile(target.getParent(), target.getFileName().toString(), ".tmp");
        try {
            try (InputStream from = source.open()) {
                Files.copy(from, written, StandardCopyOption.REPLACE_EXISTING);
            }
            String found = sha256(written);
            if (!sha256.equals(found)) {
                throw new KafkaException(target.getFileName() + " in " + NativeLibrary.ownJar() + " is damaged: its SHA-256 is "
                    + found + ", it should be " + sha256 + ". Install the jar again.");
            }
            Files.move(written, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(written);
        }
    }

    /** Fails if {@code library} is no whole shared library of this platform: the linker would crash on half of one. */
    static void checkPlatform(Path library, String platform) throws IOException {
        ByteBuffer head = head(library);
        if (head.limit() < ELF_MACHINE || head.getInt(0) != ELF_MAGIC) {
            throw new KafkaException(library + " is no shared library of Linux (no ELF header). Put the file of "
                + platform + " there.");
        }
        if (head.limit() >= ELF_MACHINE + Short.BYTES) {
            int machine = Short.toUnsignedInt(head.getShort(ELF_MACHINE));
            int bits = head.get(ELF_CLASS) == ELF_64_BIT ? 64 : 32;
            if (bits != 64 || machine != ELF_X86_64) {
                throw new KafkaException(library + " is for another platform (ELF machine " + machine + ", " + bits
                    + " bit); this JVM needs the file of " + platform + ".");
            }
        }
        long length = Files.size(library);
        if (head.limit() < ELF_HEAD || length < endOfSections(head)) {
            throw new KafkaException(library + " is cut off: it has " + length + " bytes only. Copy it again.");
        }
    }

    /** The table of sections is the last thing in a library that a linker wrote. */
    private static long endOfSections(ByteBuffer head) {
        return head.getLong(ELF_SECTIONS) + (long) Short.toUnsignedInt(head.getShort(ELF_SECTION_SIZE))
            * Short.toUnsignedInt(head.getShort(ELF_SECTION_COUNT));
    }

    private static ByteBuffer head(Path library) throws IOException {
        try (InputStream from = Files.newInputStream(library)) {
            return ByteBuffer.wrap(from.readNBytes(ELF_HEAD)).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    static void deleteQuietly(Path... paths) {
        for (Path path : paths) {
            try {
                Files.deleteIfExists(path);
            } catch (DirectoryNotEmptyException shared) {
                // Something of another process is in it: it stays.
                continue;
            } catch (IOException ignored) {
                // A file that stays behind costs a little disk; it is no reason not to start.
                continue;
            }
        }
    }

    static String sha256(Path file) throws IOException {
        try (InputStream from = Files.newInputStream(file)) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] block = new byte[64 * 1024];
            for (int count = from.read(block); count >= 0; count = from.read(block)) {
                digest.update(block, 0, count);
            }
            StringBuilder hex = new StringBuilder();
            for (byte b : digest.digest()) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Object attribute(Path path, String name) throws IOException {
        return Files.getAttribute(path, name, LinkOption.NOFOLLOW_LINKS);
    }
}

package io.undercroft.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.Locale;
import java.util.Properties;

import org.apache.kafka.common.KafkaException;

/**
 * Loads the two libraries, once per class loader.
 *
 * <p>A JVM lets a file be loaded by one class loader only, and tells a link from its target; so each class loader loads
 * a copy of the shim of its own. The shim needs the core by SONAME, and the dynamic linker gives all shims the core
 * that is already in the process. So the core, its threads and its caches exist once, whatever a broker's
 * {@code …class.path} settings are.
 */
final class NativeLibrary {
    /** Folder with both libraries, to be used instead of those in the jar. There is no way back to the jar's. */
    static final String PATH_PROPERTY = "undercroft.native.path";
    static final String PATH_VARIABLE = "UNDERCROFT_NATIVE_PATH";
    /** Folder that the jar's libraries are unpacked to, instead of the JVM's temporary folder. */
    static final String DIR_PROPERTY = "undercroft.native.dir";

    private static final String PLATFORM = "linux-x86_64";
    private static final String RESOURCES = "/META-INF/native/" + PLATFORM + "/";
    private static final String CORE = "libundercroft.so";
    private static final String CORE_SONAME = "libundercroft.so.0";
    private static final String SHIM = "libundercroft_jni.so";
    private static final int SHA_SHOWN = 16;

    private static boolean loaded;

    private NativeLibrary() {
    }

    /**
     * Loads the libraries if this class loader hasn't yet.
     *
     * @throws KafkaException that names the file and says what to do
     */
    static synchronized void load() {
        if (loaded) {
            return;
        }
        String running = platform();
        if (!PLATFORM.equals(running)) {
            throw new KafkaException(ownJar() + " has libraries for " + PLATFORM + " only; this JVM runs on " + running + ".");
        }
        String override = System.getProperty(PATH_PROPERTY, System.getenv(PATH_VARIABLE));
        try {
            if (override == null || override.isEmpty()) {
                loadFromJar();
            } else {
                loadFromFolder(Path.of(override));
            }
        } catch (IOException failed) {
            throw new KafkaException("The native libraries could not be put into " + workFolder() + " (" + failed
                + "). Choose another folder with -D" + DIR_PROPERTY + "=...", failed);
        }
        loaded = true;
    }

    private static void loadFromJar() throws IOException {
        Properties facts = facts();
        String version = fact(facts, "version");
        String coreSha = fact(facts, "sha256." + CORE);
        Path home = NativeFiles.privateDirectory(workFolder().resolve(
            "undercroft-" + System.getProperty("user.name", "user") + "-" + version + "-" + coreSha.substring(0, SHA_SHOWN)));
        Path core = home.resolve(CORE_SONAME);
        NativeFiles.place(() -> resource(CORE), coreSha, core);
        Path own = Files.createTempDirectory(home, "loader-");
        Path shim = own.resolve(SHIM);
        try {
            NativeFiles.place(() -> resource(SHIM), fact(facts, "sha256." + SHIM), shim);
            load(core, shim, version);
        } finally {
            NativeFiles.deleteQuietly(shim, own.resolve(CORE_SONAME), own);
        }
    }

    private static void loadFromFolder(Path folder) throws IOException {
        Path core = Files.isRegularFile(folder.resolve(CORE_SONAME)) ? folder.resolve(CORE_SONAME) : folder.resolve(CORE);
        Path shim = folder.resolve(SHIM);
        for (Path library : new Path[] {core, shim}) {
            if (!Files.isRegularFile(library)) {
                throw new KafkaException(library + " is missing. " + PATH_PROPERTY + " (or " + PATH_VARIABLE + ") names " + folder
                    + ": put " + CORE_SONAME + " and " + SHIM + " there, or unset it to use those in the jar.");
            }
        }
        // The JVM follows links to the shim, and the shim looks for the core beside itself.
        Path beside = shim.toRealPath().resolveSibling(CORE_SONAME);
        if (Files.isRegularFile(beside) && Files.isSameFile(beside, core) && loadInPlace(core.toRealPath(), shim.toRealPath())) {
            return;
        }
        Path own = Files.createTempDirectory(workFolder(), "undercroft-loader-");
        Path copy = own.resolve(SHIM);
        try {
            Files.copy(shim, copy);
            load(core.toRealPath(), copy, null);
        } finally {
            NativeFiles.deleteQuietly(copy, own.resolve(CORE_SONAME), own);
        }
    }

    /**
     * Loads the shim from where it is installed, which the first class loader can: there may be no folder to run a copy
     * from. False if another one has it.
     */
    private static boolean loadInPlace(Path core, Path shim) throws IOException {
        NativeFiles.checkPlatform(core, PLATFORM);
        NativeFiles.checkPlatform(shim, PLATFORM);
        try {
            System.load(shim.toString());
        } catch (UnsatisfiedLinkError refused) {
            String message = String.valueOf(refused.getMessage());
            if (message.contains("already loaded in another classloader")) {
                return false;
            }
            throw new KafkaException(explain(message, core, shim), refused);
        }
        checkVersions(core, null);
        return true;
    }

    /** Loads a copy of the shim, which finds the core beside it unless one is in the process already. */
    private static void load(Path core, Path shim, String version) throws IOException {
        NativeFiles.checkPlatform(core, PLATFORM);
        NativeFiles.checkPlatform(shim, PLATFORM);
        Files.createSymbolicLink(shim.resolveSibling(CORE_SONAME), core);
        try {
            System.load(shim.toString());
        } catch (UnsatisfiedLinkError refused) {
            throw new KafkaException(explain(String.valueOf(refused.getMessage()), core, shim), refused);
        }
        checkVersions(core, version);
    }

    /** What the dynamic linker meant, and what to do about it. */
    static String explain(String message, Path core, Path shim) {
        String told = "The library " + core + " could not be loaded: " + message + ". ";
        if (message.contains("failed to map segment")) {
            return told + shim.getParent() + " seems to be on a file system that is mounted noexec: choose another folder with -D"
                + DIR_PROPERTY + "=...";
        }
        if (message.contains("undefined symbol: uc_")) {
            return told + "It, or the libundercroft that another plugin has loaded into this JVM, is of another version than "
                + ownJar() + ": use files of one version everywhere.";
        }
        if (message.contains("GLIBC_")) {
            return told + "It needs a newer glibc than this system has.";
        }
        return told + "The file may be damaged or lack a library that it needs (`ldd " + core + "` tells which).";
    }

    private static void checkVersions(Path core, String jarVersion) {
        String shimVersion = NativeVersion.shimVersion();
        String coreVersion = NativeVersion.coreVersion();
        String wanted = jarVersion == null ? shimVersion : jarVersion;
        boolean same = NativeVersion.shimAbi() == NativeVersion.ABI && NativeVersion.coreAbi() == NativeVersion.ABI
            && shimVersion.equals(wanted) && coreVersion.equals(wanted)
            && NativeVersion.shimBuild().equals(NativeVersion.coreBuild());
        if (!same) {
            throw new KafkaException("Versions differ: the classes of " + ownJar() + " speak ABI " + NativeVersion.ABI
                + (jarVersion == null ? "" : " and are " + jarVersion) + "; " + SHIM + " is " + shimVersion + " (ABI "
                + NativeVersion.shimAbi() + ", build " + NativeVersion.shimBuild() + "); the core in this process is "
                + coreVersion + " (ABI " + NativeVersion.coreAbi() + ", build " + NativeVersion.coreBuild() + "), loaded from " + realPath(NativeVersion.corePath(), core)
                + ". Use the jar and the libraries of one version, for both managers.");
        }
    }

    /** The linker's name of a core may be our short-lived link to it. */
    private static String realPath(String loadedFrom, Path core) {
        try {
            return Path.of(loadedFrom).toRealPath().toString();
        } catch (IOException gone) {
            return loadedFrom + " (wanted: " + core + ")";
        }
    }

    private static Properties facts() throws IOException {
        Properties facts = new Properties();
        try (InputStream from = resource("undercroft.properties")) {
            facts.load(from);
        }
        return facts;
    }

    private static String fact(Properties facts, String key) {
        String value = facts.getProperty(key);
        if (value == null) {
            throw new KafkaException(RESOURCES + "undercroft.properties in " + ownJar() + " lacks " + key
                + ": the jar is damaged, install it again.");
        }
        return value;
    }

    private static InputStream resource(String name) {
        InputStream found = NativeLibrary.class.getResourceAsStream(RESOURCES + name);
        if (found == null) {
            throw new KafkaException(RESOURCES + name + " is missing in " + ownJar() + ": install the complete jar, or name a "
                + "folder that has the libraries with -D" + PATH_PROPERTY + "=...");
        }
        return found;
    }

    /** Where these classes came from, for messages. */
    static String ownJar() {
        CodeSource source = NativeLibrary.class.getProtectionDomain().getCodeSource();
        return source == null || source.getLocation() == null ? "undercroft-kafka.jar" : source.getLocation().getPath();
    }

    /** Absolute, as a library that is loaded, and the target of a link, must be. */
    private static Path workFolder() {
        return Path.of(System.getProperty(DIR_PROPERTY, System.getProperty("java.io.tmpdir"))).toAbsolutePath();
    }

    private static String platform() {
        String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        return os.replace(' ', '_') + "-" + ("amd64".equals(arch) ? "x86_64" : arch);
    }
}

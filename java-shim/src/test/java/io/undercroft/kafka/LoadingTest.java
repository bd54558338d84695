package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each case loads the libraries in a JVM of its own: a process keeps the first core that it gets. */
@Timeout(60)
class LoadingTest {
    private static final Path CLASSES = Path.of(System.getProperty("undercroft.test.classes"));
    private static final Path NATIVES = Path.of(System.getProperty("undercroft.test.natives"));
    private static final String RESOURCES = "META-INF/native/linux-x86_64/";

    @TempDir
    Path folder;

    private Path work;

    @BeforeEach
    void prepare() throws IOException {
        work = Files.createDirectory(folder.resolve("work"));
    }

    /** Output of a probe that loads the plugin from each of {@code classes} with a class loader of its own. */
    private String probe(List<String> options, Path... classes) throws Exception {
        return probe(List.of(), testClassPath(), options, classes);
    }

    /** The same, started by {@code prefix}; later options count. */
    private String probe(List<String> prefix, String classPath, List<String> options, Path... classes) throws Exception {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m", "-XX:TieredStopAtLevel=1", "-D" + NativeLibrary.DIR_PROPERTY + "=" + work));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, LoaderProbe.class.getName()));
        for (Path path : classes) {
            command.add(path.toString());
        }
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().remove(NativeLibrary.PATH_VARIABLE);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), out);
        return out;
    }

    /** Without the plugin's own classes: the probe's loaders bring them. */
    private static String testClassPath() {
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return Stream.of(path.split(":")).filter(entry -> !entry.endsWith("/target/classes")).collect(Collectors.joining(":"));
    }

    private static List<String> override(Path libraries) {
        return List.of("-D" + NativeLibrary.PATH_PROPERTY + "=" + libraries);
    }

    private Path copyOf(Path from, String name) throws IOException {
        Path to = folder.resolve(name);
        try (Stream<Path> all = Files.walk(from)) {
            for (Path path : all.collect(Collectors.toList())) {
                Files.copy(path, to.resolve(from.relativize(path).toString()), StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return to;
    }

    /** A folder with the real libraries. */
    private Path libraries() throws IOException {
        Path to = Files.createDirectory(folder.resolve("libraries"));
        for (String name : List.of("libundercroft.so", "libundercroft_jni.so")) {
            Files.copy(NATIVES.resolve(name), to.resolve(name));
        }
        return to;
    }

    private static void assertSays(String out, String... parts) {
        for (String part : parts) {
            assertTrue(out.contains(part), () -> "lacks \"" + part + "\": " + out);
        }
    }

    @Test
    void twoClassLoadersHaveAShimEachAndOneCore() throws Exception {
        String out = probe(List.of(), CLASSES, CLASSES);
        assertSays(out, "cores 1\n", "shims 2\n", "java threads []");
        try (Stream<Path> left = Files.list(work)) {
            List<Path> homes = left.collect(Collectors.toList());
            assertEquals(1, homes.size());
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(homes.get(0))));
            try (Stream<Path> files = Files.list(homes.get(0))) {
                assertEquals(List.of("libundercroft.so.0"), files.map(file -> file.getFileName().toString()).collect(Collectors.toList()));
            }
        }
    }

    @Test
    void twoClassLoadersShareTheCoreOfANamedFolderToo() throws Exception {
        assertSays(probe(override(libraries()), CLASSES, CLASSES), "cores 1\n", "shims 2\n", "java threads []");
    }

    /** Brokers rarely run as root, which is the owner of all of /proc's links. */
    @Test
    void aUserWhoIsNotRootUsesTheSameFolderAgain() throws Exception {
        boolean root = Integer.valueOf(0).equals(Files.getAttribute(work, "unix:uid"));
        List<String> asOther = root ? List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") : List.of();
        Path classes = copyOf(CLASSES, "classes");
        List<String> classPath = new ArrayList<>();
        for (String entry : testClassPath().split(":")) {
            // Copies, as a repository in root's home is not everybody's to read.
            classPath.add(copyOf(Path.of(entry), "cp" + classPath.size() + "-" + Path.of(entry).getFileName()).toString());
        }
        for (Path open : List.of(folder, work)) {
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        }
        for (int start = 0; start < 2; start++) {
            assertSays(probe(asOther, String.join(":", classPath), List.of(), classes, classes), "cores 1\n", "shims 2\n");
        }
    }

    @Test
    void aFolderMayBeNamedRelativeToTheWorkingFolder() throws Exception {
        assertSays(probe(List.of("-D" + NativeLibrary.DIR_PROPERTY + "=work"), CLASSES, CLASSES), "cores 1\n", "shims 2\n");
        List<String> options = new ArrayList<>(override(libraries()));
        options.add("-D" + NativeLibrary.DIR_PROPERTY + "=work");
        assertSays(probe(options, CLASSES), "cores 1\n");
    }

    /** Where nothing may be run from any folder that can be written to, it is the only way. */
    @Test
    void librariesThatAreInstalledAreUsedWhereTheyAre() throws Exception {
        Path libraries = libraries();
        Files.move(libraries.resolve("libundercroft.so"), libraries.resolve("libundercroft.so.0"));
        List<String> options = new ArrayList<>(override(libraries));
        options.add("-D" + NativeLibrary.DIR_PROPERTY + "=" + folder.resolve("absent/work"));
        assertSays(probe(options, CLASSES), "cores 1\n", "shims 1\n");
        // A second class loader needs a copy; it says where it could not be put.
        assertSays(probe(options, CLASSES, CLASSES), "KafkaException", folder.resolve("absent/work").toString());
        assertSays(probe(override(libraries), CLASSES, CLASSES), "cores 1\n", "shims 2\n");
    }

    @Test
    void aDamagedFileOnDiskIsReplaced() throws Exception {
        probe(List.of(), CLASSES);
        Path core;
        try (Stream<Path> all = Files.walk(work)) {
            core = all.filter(Files::isRegularFile).findFirst().orElseThrow();
        }
        Files.write(core, new byte[] {1, 2, 3});
        assertSays(probe(List.of(), CLASSES), "cores 1\n");
    }

    @Test
    void aFolderThatOthersCanWriteToIsRefused() throws Exception {
        probe(List.of(), CLASSES);
        try (Stream<Path> homes = Files.list(work)) {
            Files.setPosixFilePermissions(homes.findFirst().orElseThrow(), PosixFilePermissions.fromString("rwxrwxrwx"));
        }
        assertSays(probe(List.of(), CLASSES), "KafkaException", "-Dundercroft.native.dir");
    }

    @Test
    void aDamagedJarIsNamed() throws Exception {
        Path damaged = copyOf(CLASSES, "damaged");
        Files.write(damaged.resolve(RESOURCES + "libundercroft_jni.so"), new byte[] {0}, java.nio.file.StandardOpenOption.APPEND);
        assertSays(probe(List.of(), damaged), "KafkaException", "libundercroft_jni.so in " + damaged, "SHA-256", "Install the jar again");
    }

    @Test
    void aJarWithoutLibrariesSaysWhatToDo() throws Exception {
        Path without = copyOf(CLASSES, "without");
        Files.delete(without.resolve(RESOURCES + "libundercroft.so"));
        assertSays(probe(List.of(), without), "KafkaException", RESOURCES + "libundercroft.so is missing in " + without, "-Dundercroft.native.path");
    }

    @Test
    void aMissingFileOfANamedFolderIsNotMadeUpForFromTheJar() throws Exception {
        Path libraries = libraries();
        Files.delete(libraries.resolve("libundercroft_jni.so"));
        assertSays(probe(override(libraries), CLASSES), "KafkaException", libraries.resolve("libundercroft_jni.so") + " is missing", "unset it");
    }

    @Test
    void anotherPlatformIsNamed() throws Exception {
        assertSays(probe(List.of("-Dos.arch=riscv64"), CLASSES), "KafkaException", "linux-riscv64", "linux-x86_64");
    }

    @Test
    void aLibraryOfAnotherPlatformIsNamed() throws Exception {
        Path libraries = libraries();
        byte[] core = Files.readAllBytes(libraries.resolve("libundercroft.so"));
        core[18] = (byte) 183;
        Files.write(libraries.resolve("libundercroft.so"), core);
        assertSays(probe(override(libraries), CLASSES), "KafkaException", "libundercroft.so is for another platform (ELF machine 183");
        Files.write(libraries.resolve("libundercroft.so"), new byte[] {'M', 'Z', 0});
        assertSays(probe(override(libraries), CLASSES), "libundercroft.so is no shared library of Linux");
    }

    @Test
    void aLibraryThatIsCutOffIsNamedAndNeverMapped() throws Exception {
        Path libraries = libraries();
        byte[] core = Files.readAllBytes(libraries.resolve("libundercroft.so"));
        for (int length : new int[] {30, 3000, core.length / 2, core.length - 1}) {
            Files.write(libraries.resolve("libundercroft.so"), java.util.Arrays.copyOf(core, length));
            assertSays(probe(override(libraries), CLASSES), "KafkaException", "libundercroft.so is cut off", "Copy it again");
        }
    }

    @Test
    void aCoreOfAnotherVersionIsRefusedWithBothVersions() throws Exception {
        Path libraries = libraries();
        compile(libraries, "-DOTHER_VERSION=\"9.9.9\"");
        assertSays(probe(override(libraries), CLASSES), "KafkaException", "Versions differ", "9.9.9",
            System.getProperty("undercroft.test.version"), libraries.resolve("libundercroft.so").toString());
    }

    @Test
    void aCoreThatLacksFunctionsIsRefusedWhenItIsLoaded() throws Exception {
        Path libraries = libraries();
        compile(libraries, "-DOTHER_LACKS_FUNCTIONS");
        assertSays(probe(override(libraries), CLASSES), "KafkaException", "undefined symbol: uc_", "is of another version");
    }

    /** Puts the scripted core, with another identity, where the real one was. */
    private static void compile(Path libraries, String definition) throws Exception {
        Path header = Path.of(System.getProperty("undercroft.test.header"));
        Process cc = new ProcessBuilder("cc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden", definition,
            "-I" + header.getParent(), "src/test/native/scripted_core.c", "-Wl,-soname,libundercroft.so.0", "-lpthread",
            "-o", libraries.resolve("libundercroft.so").toString()).inheritIO().start();
        assertEquals(0, cc.waitFor());
    }

    @Test
    void aFolderThatForbidsExecutionIsExplained() {
        String told = NativeLibrary.explain("/x/l.so: failed to map segment from shared object", Path.of("/x/core.so"), Path.of("/x/y/shim.so"));
        assertSays(told, "/x/y", "noexec", "-Dundercroft.native.dir");
    }
}

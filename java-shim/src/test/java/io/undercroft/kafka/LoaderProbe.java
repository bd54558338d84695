package io.undercroft.kafka;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.apache.kafka.common.Configurable;

/**
 * Runs in a JVM of its own and prints what loading comes to: {@code probe CLASSES...}, where each of CLASSES is a
 * folder or jar that a child-first class loader of its own loads the plugin from.
 */
public final class LoaderProbe {
    private LoaderProbe() {
    }

    public static void main(String[] args) throws Exception {
        Path store = Files.createDirectories(Path.of(System.getProperty(NativeLibrary.DIR_PROPERTY)).resolveSibling("store"));
        List<AutoCloseable> managers = new ArrayList<>();
        try {
            for (String classes : args) {
                ClassLoader loader = new ChildFirst(new File(classes).toURI().toURL());
                Object manager = loader.loadClass("io.undercroft.kafka.UndercroftRemoteStorageManager").getDeclaredConstructor().newInstance();
                ((Configurable) manager).configure(Map.of("broker.id", 1, "storage.backend.class", "filesystem",
                    "storage.root", store.toString()));
                managers.add((AutoCloseable) manager);
            }
            List<String> maps = Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("libundercroft"))
                .filter(line -> line.contains("r-xp")).map(line -> line.substring(line.indexOf('/'))).collect(Collectors.toList());
            System.out.println("cores " + maps.stream().filter(path -> path.contains("libundercroft.so")).distinct().count());
            System.out.println("shims " + maps.stream().filter(path -> path.contains("libundercroft_jni.so")).distinct().count());
            for (AutoCloseable manager : managers) {
                manager.close();
            }
            Threads.awaitNoNative();
            System.out.println("java threads " + Threads.ours());
        } catch (Throwable thrown) {
            System.out.println(thrown.getClass().getName() + ": " + thrown.getMessage());
        }
    }

    /** As a broker's loader behind {@code ...class.path}. */
    private static final class ChildFirst extends URLClassLoader {
        ChildFirst(URL classes) {
            super(new URL[] {classes}, LoaderProbe.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> found = findLoadedClass(name);
                if (found == null && name.startsWith("io.undercroft.")) {
                    found = findClass(name);
                }
                return found == null ? super.loadClass(name, resolve) : found;
            }
        }

        @Override
        public URL getResource(String name) {
            URL own = findResource(name);
            return own == null ? super.getResource(name) : own;
        }
    }
}

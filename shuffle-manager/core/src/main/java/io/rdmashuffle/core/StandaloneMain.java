package io.rdmashuffle.core;

import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Main class of the plugin jars. Beside an engine the engine brings SLF4J; alone, the copy in {@code META-INF/standalone} is
 * used, where no engine finds it.
 */
public final class StandaloneMain {

    private StandaloneMain() {}

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        URL jar = StandaloneMain.class.getProtectionDomain().getCodeSource().getLocation();
        URL logging = URI.create("jar:" + jar + "!/META-INF/standalone/").toURL();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {jar, logging}, ClassLoader.getPlatformClassLoader())) {
            loader.loadClass(StandaloneMain.class.getPackageName() + ".Main")
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) arguments);
        }
    }
}

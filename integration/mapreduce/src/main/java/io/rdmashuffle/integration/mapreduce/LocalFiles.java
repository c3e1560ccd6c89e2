package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, but that it sets permissions itself. Without its native library, which Maven does not have, Hadoop
 * starts a process for each file that is made: most of a small task's time, and a second apiece in an emulated machine.
 */
public final class LocalFiles extends LocalFileSystem {

    public LocalFiles() {
        super(new Raw());
    }

    static void use(Configuration settings) {
        settings.setClass("fs.file.impl", LocalFiles.class, LocalFileSystem.class);
        settings.setClass("fs.AbstractFileSystem.file.impl", OfContexts.class, ChecksumFs.class);
    }

    /** The same for those who have a FileContext, as NodeManagers do. */
    static final class OfContexts extends ChecksumFs {

        OfContexts(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(new RawOfContexts(conf));
        }
    }

    private static final class Raw extends RawLocalFileSystem {

        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Files.setAttribute(pathToFile(path).toPath(), "unix:mode", (int) permission.toShort());
        }
    }

    private static final class RawOfContexts extends DelegateToFileSystem {

        private static final int NO_PORT = -1;

        RawOfContexts(Configuration conf) throws IOException, URISyntaxException {
            super(FsConstants.LOCAL_FS_URI, new Raw(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
        }

        @Override
        public int getUriDefaultPort() {
            return NO_PORT;
        }

        @Override
        public FsServerDefaults getServerDefaults(Path path) throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public boolean isValidName(String path) {
            return true; // what the system allows
        }
    }
}

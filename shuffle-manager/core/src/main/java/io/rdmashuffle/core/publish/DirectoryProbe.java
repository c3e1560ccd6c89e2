package io.rdmashuffle.core.publish;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tries with a small file which registration works in a directory. That depends on the kernel as well as on the file system: before
 * Linux 6.2 pages were pinned for writing whatever was asked, so that a read-only mapping gets EFAULT. Any thread.
 */
public final class DirectoryProbe {

    private static final Logger LOG = LoggerFactory.getLogger(DirectoryProbe.class);
    private static final int FILE_BYTES = 4096;

    private final VerbsEndpoint endpoint;
    private final boolean odp;

    /** @param odpAllowed whether on-demand paging may be used where the device offers it */
    public DirectoryProbe(VerbsEndpoint endpoint, boolean odpAllowed) {
        this.endpoint = endpoint;
        this.odp = odpAllowed && endpoint.device().odp();
    }

    /** Leaves no file behind. */
    public ProbedDirectory probe(Path dir) {
        return new ProbedDirectory(dir.toString(), fileSystem(dir), modeOf(dir));
    }

    private ProbedDirectory.Mode modeOf(Path dir) {
        Path file = null;
        try {
            file = Files.createTempFile(dir, "rdma-shuffle-probe", null);
            Files.write(file, new byte[FILE_BYTES]);
            return modeOfFile(file);
        } catch (IOException e) {
            LOG.debug("probe of {}: {}", dir, e.toString());
            return ProbedDirectory.Mode.NONE;
        } finally {
            delete(file);
        }
    }

    private ProbedDirectory.Mode modeOfFile(Path file) {
        if (registers(file, MappedFile.Mode.READ_ONLY, Access.REMOTE_READ)) {
            return ProbedDirectory.Mode.RO;
        }
        if (registers(file, MappedFile.Mode.READ_WRITE, Access.REMOTE_READ)) {
            return ProbedDirectory.Mode.RW;
        }
        return odp && registers(file, MappedFile.Mode.READ_ONLY, Access.REMOTE_READ | Access.ON_DEMAND)
                ? ProbedDirectory.Mode.ODP
                : ProbedDirectory.Mode.STAGED;
    }

    private boolean registers(Path file, MappedFile.Mode mode, int access) {
        try (MappedFile mapping = MappedFile.map(file, mode);
                MemoryRegion region = endpoint.register(mapping.address(), mapping.lengthBytes(), access)) {
            return region.lengthBytes() > 0;
        } catch (VerbsException e) {
            LOG.debug("probe of {}, {}: {}", file, mode, e.getMessage());
            return false;
        }
    }

    private static String fileSystem(Path dir) {
        try {
            return Files.getFileStore(dir).type();
        } catch (IOException e) {
            return "not there";
        }
    }

    private static void delete(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            LOG.warn("RDMA shuffle: the probe file {} could not be removed: {}", file, e.toString());
        }
    }
}

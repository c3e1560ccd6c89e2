package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Maps committed files and registers them for REMOTE_READ and nothing else: pinned within a budget, else for on-demand paging where
 * that is allowed. Any thread.
 */
public final class FileRegistrar {

    /** EFAULT, of Linux's asm-generic/errno-base.h. */
    private static final int EFAULT = 14;

    private final VerbsEndpoint endpoint;
    private final PinnedBudget budget;
    private final boolean odp;
    private final DirectoryProbe probe;
    private final Map<Path, ProbedDirectory> probed = new ConcurrentHashMap<>();

    /** For files of directories that were not probed; see {@link DirectoryProbe}. */
    private volatile MappedFile.Mode learnedMode = MappedFile.Mode.READ_ONLY;

    /** @param odpAllowed whether on-demand paging may be used where the device offers it */
    public FileRegistrar(VerbsEndpoint endpoint, PinnedBudget budget, boolean odpAllowed) {
        this.endpoint = endpoint;
        this.budget = budget;
        this.odp = odpAllowed && endpoint.device().odp();
        this.probe = new DirectoryProbe(endpoint, odpAllowed);
    }

    /** Finds out, once each, what works in these directories; their files are registered accordingly. */
    public List<ProbedDirectory> probe(List<Path> dirs) {
        return dirs.stream()
                .map(dir -> probed.computeIfAbsent(dir, probe::probe))
                .toList();
    }

    /**
     * The file must never change or shrink afterwards: a registration outlives truncation and would serve stale bytes.
     *
     * @throws NotPublishedException when it cannot be registered now; nothing is kept then
     */
    public RegisteredFile register(Path file) throws NotPublishedException {
        ProbedDirectory.Mode mode = modeOf(file);
        NotPublishedException cause = new NotPublishedException(
                FallbackReason.REGISTRATION_FAILED, "no file in its directory can be pinned", null);
        if (mode == ProbedDirectory.Mode.RO || mode == ProbedDirectory.Mode.RW) {
            try {
                return pin(file, mode);
            } catch (NotPublishedException e) {
                cause = e;
            }
        }
        if (!odp || mode == ProbedDirectory.Mode.STAGED || mode == ProbedDirectory.Mode.NONE) {
            throw cause;
        }
        try {
            return register(file, MappedFile.Mode.READ_ONLY, Placement.ODP);
        } catch (VerbsException e) {
            throw failed(e);
        }
    }

    private ProbedDirectory.Mode modeOf(Path file) {
        return probed.entrySet().stream()
                .filter(entry -> file.startsWith(entry.getKey()))
                .map(entry -> entry.getValue().mode())
                .findFirst()
                .orElse(learnedMode == MappedFile.Mode.READ_ONLY ? ProbedDirectory.Mode.RO : ProbedDirectory.Mode.RW);
    }

    private RegisteredFile pin(Path file, ProbedDirectory.Mode mode) throws NotPublishedException {
        if (mode == ProbedDirectory.Mode.RO) {
            try {
                return register(file, MappedFile.Mode.READ_ONLY, Placement.DIRECT);
            } catch (VerbsException e) {
                if (e.errno() != EFAULT) {
                    throw failed(e);
                }
            }
        }
        try {
            RegisteredFile registered = register(file, MappedFile.Mode.READ_WRITE, Placement.DIRECT);
            learnedMode = MappedFile.Mode.READ_WRITE;
            return registered;
        } catch (VerbsException e) {
            throw failed(e);
        }
    }

    private RegisteredFile register(Path file, MappedFile.Mode mode, Placement placement)
            throws VerbsException, NotPublishedException {
        MappedFile mapping = MappedFile.map(file, mode);
        boolean pins = placement == Placement.DIRECT;
        long pinnedBytes = pins ? mapping.lengthBytes() : 0;
        if (!budget.tryReserve(pinnedBytes)) {
            mapping.close();
            throw NotPublishedException.overBudget(budget, pinnedBytes);
        }
        try {
            int access = pins ? Access.REMOTE_READ : Access.REMOTE_READ | Access.ON_DEMAND;
            return new RegisteredFile(
                    mapping,
                    endpoint.register(mapping.address(), mapping.lengthBytes(), access),
                    placement,
                    budget,
                    pinnedBytes);
        } catch (VerbsException | RuntimeException e) { // the latter of a closed endpoint
            budget.release(pinnedBytes);
            mapping.close();
            throw e;
        }
    }

    private static NotPublishedException failed(VerbsException e) {
        return new NotPublishedException(FallbackReason.REGISTRATION_FAILED, e.getMessage(), e);
    }
}

package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.file.Path;

/** Maps committed files and registers them for REMOTE_READ and nothing else, within a budget. Any thread. */
public final class FileRegistrar {

    /** EFAULT, of Linux's asm-generic/errno-base.h. */
    private static final int EFAULT = 14;

    private final VerbsEndpoint endpoint;
    private final PinnedBudget budget;

    /** Kernels before 6.2 pin for writing whatever is asked (FOLL_WRITE), so a read-only mapping gets EFAULT; found out once. */
    private volatile MappedFile.Mode mappingMode = MappedFile.Mode.READ_ONLY;

    public FileRegistrar(VerbsEndpoint endpoint, PinnedBudget budget) {
        this.endpoint = endpoint;
        this.budget = budget;
    }

    /**
     * The file must never change or shrink afterwards: a registration outlives truncation and would serve stale bytes.
     *
     * @throws NotPublishedException when it is not readable now; nothing is kept then
     */
    public RegisteredFile register(Path file) throws NotPublishedException {
        try {
            return register(file, mappingMode);
        } catch (VerbsException e) {
            if (e.errno() != EFAULT || mappingMode == MappedFile.Mode.READ_WRITE) {
                throw new NotPublishedException(FallbackReason.REGISTRATION_FAILED, e.getMessage(), e);
            }
        }
        try {
            RegisteredFile registered = register(file, MappedFile.Mode.READ_WRITE);
            mappingMode = MappedFile.Mode.READ_WRITE;
            return registered;
        } catch (VerbsException e) {
            throw new NotPublishedException(FallbackReason.REGISTRATION_FAILED, e.getMessage(), e);
        }
    }

    private RegisteredFile register(Path file, MappedFile.Mode mode) throws VerbsException, NotPublishedException {
        MappedFile mapping = MappedFile.map(file, mode);
        if (!budget.tryReserve(mapping.lengthBytes())) {
            mapping.close();
            throw NotPublishedException.overBudget(budget, mapping.lengthBytes());
        }
        try {
            return new RegisteredFile(
                    mapping, endpoint.register(mapping.address(), mapping.lengthBytes(), Access.REMOTE_READ), budget);
        } catch (VerbsException e) {
            budget.release(mapping.lengthBytes());
            mapping.close();
            throw e;
        }
    }
}

package io.rdmashuffle.verbs;

import java.io.IOException;
import java.util.Locale;

/** A verbs, rdma_cm or memory call that failed; says which step, why, and the remedy where one is known. */
public final class VerbsException extends IOException {
    private static final long serialVersionUID = 1L;

    /** errno values that have a remedy or a meaning of their own here (Linux, asm-generic/errno-base.h). */
    static final int EPERM = 1;

    static final int ENOMEM = 12;
    static final int EFAULT = 14;
    static final int ENODEV = 19;
    static final int EINVAL = 22;

    private final String step;
    private final int errno;
    private final String remedy;

    /**
     * @param step the call that failed, such as ibv_reg_mr
     * @param errno a positive Linux errno
     */
    public VerbsException(String step, int errno) {
        this(step, errno, remedy(step, errno));
    }

    private VerbsException(String step, int errno, String remedy) {
        super(problem(step, errno) + (remedy.isEmpty() ? "" : "; " + remedy));
        this.step = step;
        this.errno = errno;
        this.remedy = remedy;
    }

    /** The failure of the native call that this thread made last, which returned {@code -errno}. */
    static VerbsException ofLastCall(long negativeErrno) {
        return new VerbsException(Native.lastStep(), (int) -negativeErrno);
    }

    /** The positive Linux errno. */
    public int errno() {
        return errno;
    }

    /** The call that failed, such as ibv_reg_mr. */
    public String step() {
        return step;
    }

    /** The message without the remedy. */
    public String problem() {
        return problem(step, errno);
    }

    /** What helps, one line; empty where none is known. It is part of the message. */
    public String remedy() {
        return remedy;
    }

    private static String problem(String step, int errno) {
        return step + ": " + NativeLoader.strerror(errno) + " (errno " + errno + ")";
    }

    private static String remedy(String step, int errno) {
        return switch (step) {
            case "ibv_reg_mr" -> registerRemedy(errno);
            case "ibv_create_cq", "rdma_create_qp" -> errno == ENOMEM ? memlockRemedy() : "";
            case "no RDMA device at this address" -> "choose an address of an interface that 'rdma link' shows";
            default -> "";
        };
    }

    private static String registerRemedy(int errno) {
        return switch (errno) {
            case EPERM, ENOMEM -> memlockRemedy();
            case EFAULT ->
                "the kernel cannot pin this mapping with these rights: map a file READ_WRITE on kernels "
                        + "before 6.2, and never ask for write rights on a file";
            default -> "";
        };
    }

    private static String memlockRemedy() {
        long soft = HostLimits.memlockSoftBytes();
        String limit = soft == Long.MAX_VALUE ? "unlimited" : String.format(Locale.ROOT, "%d KiB", soft >> 10);
        return "RLIMIT_MEMLOCK is " + limit + ": raise it (memlock in /etc/security/limits.d, LimitMEMLOCK= in a "
                + "systemd unit, --ulimit memlock=-1 or the capability IPC_LOCK for a container)";
    }
}

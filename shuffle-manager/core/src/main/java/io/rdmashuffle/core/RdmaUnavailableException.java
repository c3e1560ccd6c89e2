package io.rdmashuffle.core;

/** This process cannot use RDMA; the message says why and what helps, in one line. */
public final class RdmaUnavailableException extends Exception {

    private static final long serialVersionUID = 1L;

    public RdmaUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }
}

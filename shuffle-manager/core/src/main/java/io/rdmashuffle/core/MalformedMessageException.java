package io.rdmashuffle.core;

import java.io.IOException;

/** Bytes that are no message of this version. */
public final class MalformedMessageException extends IOException {

    private static final long serialVersionUID = 1L;

    public MalformedMessageException(String message, Throwable cause) {
        super(message, cause);
    }
}

package io.rdmashuffle.core.doctor;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds out by a small file how map outputs in a directory can be registered. */
final class RegistrationProbe {

    private RegistrationProbe() {}

    /** ro, rw, or none. */
    static String mode(VerbsEndpoint endpoint, Path directory) {
        Path file = null;
        try {
            file = Files.createTempFile(directory, "rdma-shuffle-doctor", ".data");
            Files.write(file, new byte[ReadProbe.BYTES]);
            if (registers(endpoint, file, MappedFile.Mode.READ_ONLY)) {
                return "ro";
            }
            return registers(endpoint, file, MappedFile.Mode.READ_WRITE) ? "rw" : "none";
        } catch (IOException e) {
            return "none";
        } finally {
            delete(file);
        }
    }

    private static boolean registers(VerbsEndpoint endpoint, Path file, MappedFile.Mode mode) {
        try (MappedFile mapping = MappedFile.map(file, mode)) {
            endpoint.register(mapping.address(), mapping.lengthBytes(), Access.REMOTE_READ)
                    .close();
            return true;
        } catch (VerbsException e) {
            return false;
        }
    }

    private static void delete(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            file.toFile().deleteOnExit();
        }
    }
}

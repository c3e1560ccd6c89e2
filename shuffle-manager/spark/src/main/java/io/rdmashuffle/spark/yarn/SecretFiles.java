package io.rdmashuffle.spark.yarn;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The secrets of running applications, for a NodeManager that starts again: one file each, of the NodeManager's user only. */
final class SecretFiles {

    private static final FileAttribute<Set<PosixFilePermission>> OWN_DIRECTORY = permissions("rwx------");
    private static final FileAttribute<Set<PosixFilePermission>> OWN_FILE = permissions("rw-------");
    private static final String SUFFIX = ".secret";

    private final Path directory;

    SecretFiles(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory, OWN_DIRECTORY);
    }

    /** By application id. */
    Map<String, String> load() throws IOException {
        Map<String, String> secrets = new HashMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + SUFFIX)) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                secrets.put(name.substring(0, name.length() - SUFFIX.length()), Files.readString(file));
            }
        }
        return secrets;
    }

    /** @param appId as YARN writes it, so that it is a plain name */
    void put(String appId, String secret) throws IOException {
        Path next = directory.resolve(appId + ".next");
        Files.deleteIfExists(next);
        Files.createFile(next, OWN_FILE);
        Files.write(next, secret.getBytes(UTF_8), StandardOpenOption.WRITE);
        Files.move(next, file(appId), StandardCopyOption.ATOMIC_MOVE);
    }

    void remove(String appId) throws IOException {
        Files.deleteIfExists(file(appId));
    }

    private Path file(String appId) {
        return directory.resolve(appId + SUFFIX);
    }

    private static FileAttribute<Set<PosixFilePermission>> permissions(String text) {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text));
    }
}

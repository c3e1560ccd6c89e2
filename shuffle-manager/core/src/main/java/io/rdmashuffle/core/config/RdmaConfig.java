package io.rdmashuffle.core.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Every setting of rdma-shuffle, checked when it is made. Immutable; any thread. */
public final class RdmaConfig {

    private static final Pattern BYTES = Pattern.compile("(\\d+)\\s*([kmgt]?)b?", Pattern.CASE_INSENSITIVE);
    private static final Pattern MILLIS = Pattern.compile("(\\d+)\\s*(ms|s|m|min)?", Pattern.CASE_INSENSITIVE);

    private static final List<Setting<?>> TABLE = new ArrayList<>();

    public static final Setting<Mode> MODE = declare(
            "mode",
            "enum",
            "auto",
            "auto, off, required",
            "auto: RDMA where both ends can, TCP elsewhere. off: TCP only, the native library is never loaded. "
                    + "required: any fallback to TCP fails the task with its reason.",
            text -> Mode.valueOf(text.toUpperCase(Locale.ROOT)));

    public static final Setting<Boolean> ALLOW_CLEARTEXT = declare(
            "allowCleartext",
            "boolean",
            "false",
            "true, false",
            "Use RDMA, which is never encrypted on the wire, although the engine is set to encrypt its connections.",
            RdmaConfig::bool);

    public static final Setting<List<String>> LISTEN_INTERFACES = declare(
            "listen.interfaces",
            "list",
            "",
            "names of network interfaces, separated by commas; empty for all",
            "Interfaces whose addresses may be used for RDMA, such as ib0. Those without an RDMA device are left out.",
            text -> list(text, name -> name));

    public static final Setting<List<Subnet>> LISTEN_SUBNETS = declare(
            "listen.subnets",
            "list",
            "",
            "IPv4 or IPv6 subnets such as 10.9.0.0/16, separated by commas; empty for all",
            "Subnets whose addresses may be used for RDMA. With listen.interfaces an address must satisfy both.",
            text -> list(text, Subnet::parse));

    public static final Setting<Long> PINNED_MAX_BYTES = declare(
            "pinned.maxBytes",
            "bytes",
            "4g",
            "1m to 1024t",
            "Most bytes that one executor keeps registered: map outputs, their offsets, staging and sinks together. "
                    + "RLIMIT_MEMLOCK and the control group may allow for less. Beyond it the coldest shuffle is withdrawn "
                    + "and map outputs are staged.",
            text -> bytes(text, 1L << 20));

    /** Long.MAX_VALUE for 0. */
    public static final Setting<Long> PINNED_MAX_BYTES_PER_APPLICATION = declare(
            "pinned.maxBytesPerApplication",
            "bytes",
            "0",
            "0 to 1024t",
            "Most bytes of them that a NodeManager keeps registered for one application. 0: up to pinned.maxBytes.",
            text -> bytes(text, 0) == 0 ? Long.MAX_VALUE : bytes(text, 0));

    public static final Setting<Boolean> ODP = declare(
            "odp",
            "boolean",
            "false",
            "true, false",
            "Register map outputs for on-demand paging when they cannot be pinned and the device offers it.",
            RdmaConfig::bool);

    public static final Setting<Long> STAGING_MAX_BYTES = declare(
            "staging.maxBytes",
            "bytes",
            "64m",
            "0 to 1024t",
            "Most bytes of registered memory in which one executor stages map outputs that are not registered, at most an "
                    + "eighth of pinned.maxBytes. 0: such outputs are read over TCP.",
            text -> bytes(text, 0));

    public static final Setting<Long> WITHDRAW_GRACE_MILLIS = declare(
            "withdraw.grace",
            "time",
            "5s",
            "0ms to 10min",
            "Time from telling that a shuffle is withdrawn until its map outputs are deregistered.",
            text -> millis(text, 0));

    public static final Setting<Long> SINK_MAX_BYTES = declare(
            "sink.maxBytes",
            "bytes",
            "256m",
            "1m to 1024t",
            "Most bytes of registered memory that one executor keeps for blocks on their way in, at most a quarter of "
                    + "pinned.maxBytes.",
            text -> bytes(text, 1L << 20));

    public static final Setting<Long> SINK_WAIT_MILLIS = declare(
            "sink.wait",
            "time",
            "2s",
            "0ms to 10min",
            "Longest wait of a fetch for sink memory before its blocks are read over TCP.",
            text -> millis(text, 0));

    public static final Setting<Long> IN_FLIGHT_MAX_BYTES = declare(
            "inFlight.maxBytes",
            "bytes",
            "128m",
            "1m to 1024t",
            "Most bytes on their way into one executor at a time, of all its tasks; fetches beyond it wait.",
            text -> bytes(text, 1L << 20));

    public static final Setting<Long> IN_FLIGHT_MAX_BYTES_PER_PEER = declare(
            "inFlight.maxBytesPerPeer",
            "bytes",
            "32m",
            "1m to 1024t",
            "Most bytes on their way from one executor to another at a time.",
            text -> bytes(text, 1L << 20));

    public static final Setting<Long> OFFSETS_CACHE_MAX_BYTES = declare(
            "offsetsCache.maxBytes",
            "bytes",
            "64m",
            "0 to 1024t",
            "Most bytes of map outputs' offsets that one executor keeps as reader, and again as owner who serves blocks over"
                    + " TCP. Beyond it, as with 0, they are read again for each fetch.",
            text -> bytes(text, 0));

    public static final Setting<Long> CONNECT_TIMEOUT_MILLIS = declare(
            "connect.timeout",
            "time",
            "10s",
            "10ms to 10min",
            "Longest time for each step of a connection: address, route, handshake.",
            text -> millis(text, 10));

    public static final Setting<Long> READ_TIMEOUT_MILLIS = declare(
            "read.timeout",
            "time",
            "30s",
            "10ms to 10min",
            "Longest time without progress of posted READs before the connection is given up.",
            text -> millis(text, 10));

    public static final Setting<Long> DIRECTORY_TIMEOUT_MILLIS = declare(
            "directory.timeout",
            "time",
            "10s",
            "10ms to 10min",
            "Longest wait for an answer of the driver's directory.",
            text -> millis(text, 10));

    public static final Setting<Long> QUARANTINE_MILLIS = declare(
            "quarantine",
            "time",
            "30s",
            "0ms to 10min",
            "Time in which a peer whose connection failed is read over TCP before RDMA is tried again; doubled with each"
                    + " further failure in a row.",
            text -> millis(text, 0));

    public static final Setting<Long> QUARANTINE_MAX_MILLIS = declare(
            "quarantine.max",
            "time",
            "10min",
            "0ms to 10min",
            "Longest quarantine of a peer that fails again and again.",
            text -> millis(text, 0));

    public static final Setting<Integer> MAX_CONNECTIONS = declare(
            "connections.max",
            "int",
            "1024",
            "1 to 65536",
            "Most executors that one executor reads from over RDMA at a time; half of the device's queue pairs at most. The"
                    + " least recently used idle connection makes room; when none is idle, further executors are read over TCP.",
            text -> integer(text, 1, 65536));

    public static final Setting<Long> IDLE_MILLIS = declare(
            "connections.idle",
            "time",
            "5min",
            "10ms to 10min",
            "Time after which a connection that nobody reads over is closed; the next fetch makes a new one.",
            text -> millis(text, 10));

    public static final Setting<Integer> SEND_QUEUE_DEPTH = declare(
            "sendQueueDepth",
            "int",
            "256",
            "16 to 4096",
            "Most READs posted on one connection at a time; never more than both devices agreed upon.",
            text -> integer(text, 16, 4096));

    private final String prefix;
    private final Map<Setting<?>, Object> values = new HashMap<>();

    /**
     * @param prefix the engine's prefix with its dot, e.g. {@code spark.shuffle.rdma.}
     * @param given what the user set: full name to text
     * @throws IllegalArgumentException for an unknown name below the prefix or a value out of range
     */
    public RdmaConfig(String prefix, Map<String, String> given) {
        this.prefix = prefix;
        for (Setting<?> setting : TABLE) {
            values.put(
                    setting, setting.parse(prefix, given.getOrDefault(prefix + setting.name(), setting.defaultText())));
        }
        given.keySet().stream().filter(this::isUnknown).findFirst().ifPresent(name -> {
            throw new IllegalArgumentException("unknown setting " + name + "; known: " + knownNames());
        });
    }

    /** The value of a setting. */
    @SuppressWarnings("unchecked") // the table puts only what the setting's own parser made
    public <T> T get(Setting<T> setting) {
        return (T) values.get(setting);
    }

    /** The full name of a setting, as a user writes it. */
    public String nameOf(Setting<?> setting) {
        return prefix + setting.name();
    }

    /** All settings in the order of the documentation. */
    public static List<Setting<?>> table() {
        return List.copyOf(TABLE);
    }

    private boolean isUnknown(String name) {
        return name.startsWith(prefix) && TABLE.stream().noneMatch(setting -> name.equals(prefix + setting.name()));
    }

    private String knownNames() {
        return String.join(
                ", ", TABLE.stream().map(setting -> prefix + setting.name()).toList());
    }

    private static <T> Setting<T> declare(
            String name, String type, String defaultText, String range, String meaning, Function<String, T> parser) {
        Setting<T> setting = new Setting<>(name, type, defaultText, range, "0.1.0", meaning, parser);
        TABLE.add(setting);
        return setting;
    }

    private static boolean bool(String text) {
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException(text);
        };
    }

    private static <T> List<T> list(String text, Function<String, T> parser) {
        return Stream.of(text.split(","))
                .map(String::trim)
                .filter(part -> !part.isEmpty())
                .map(parser)
                .toList();
    }

    private static int integer(String text, int min, int max) {
        int value = Integer.parseInt(text);
        if (value < min || value > max) {
            throw new IllegalArgumentException(text);
        }
        return value;
    }

    private static long bytes(String text, long min) {
        Matcher matcher = BYTES.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text);
        }
        int shift = 10 * " kmgt".indexOf(unit(matcher, " "));
        return inRange(matcher.group(1), 1L << Math.max(0, shift), min, 1L << 50);
    }

    private static long millis(String text, long min) {
        Matcher matcher = MILLIS.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text);
        }
        long factor =
                switch (unit(matcher, "ms")) {
                    case "ms" -> 1;
                    case "s" -> 1000;
                    default -> 60_000;
                };
        return inRange(matcher.group(1), factor, min, 600_000);
    }

    private static String unit(Matcher matcher, String none) {
        String unit = matcher.group(2);
        return unit == null || unit.isEmpty() ? none : unit.toLowerCase(Locale.ROOT);
    }

    private static long inRange(String digits, long factor, long min, long max) {
        long number = Long.parseLong(digits);
        if (number > max / factor || number * factor < min) {
            throw new IllegalArgumentException(digits);
        }
        return number * factor;
    }
}

package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.verbs.RdmaDevice;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The attributes are those that ibv_devinfo -v shows of real devices. */
class ConnectionLimitsTest {

    private static final int CQ_ENTRIES = 32_000;

    private static RdmaDevice device(RdmaDevice.LinkLayer linkLayer, int maxQp, int maxReadDepth) {
        return new RdmaDevice(
                "device",
                RdmaDevice.Transport.IB,
                linkLayer,
                true,
                maxQp,
                32768,
                4_194_303,
                16_777_216,
                Long.MAX_VALUE,
                30,
                maxReadDepth,
                maxReadDepth,
                1L << 30,
                4096,
                true);
    }

    private static int limit(RdmaDevice device, String... settings) {
        Map<String, String> given = settings.length == 0 ? Map.of() : Map.of("x." + settings[0], settings[1]);
        return Connections.maxConnections(device, 256, CQ_ENTRIES, new RdmaConfig("x.", given));
    }

    @Test
    void a_connectx_on_infiniband_serves_as_many_as_the_setting_says() {
        RdmaDevice connectX6 = device(RdmaDevice.LinkLayer.INFINIBAND, 262_144, 16);
        assertEquals(800, limit(connectX6, "connections.max", "800"));
        assertEquals(7, limit(connectX6, "connections.max", "7"));
    }

    @Test
    void the_completion_queue_must_hold_the_reads_and_messages_of_all_connections() {
        RdmaDevice rxe = device(RdmaDevice.LinkLayer.ETHERNET, 1_048_560, 128);
        assertEquals(CQ_ENTRIES / (128 + Connections.MESSAGES), limit(rxe));
    }

    @Test
    void half_of_a_devices_queue_pairs_are_for_reading() {
        assertEquals(8, limit(device(RdmaDevice.LinkLayer.INFINIBAND, 16, 16)));
        assertEquals(1, limit(device(RdmaDevice.LinkLayer.INFINIBAND, 1, 16)));
    }
}

package io.rdmashuffle.integration.bench;

import java.util.Map;

/**
 * One application of the shuffle benchmark. CPU in seconds, of whole processes.
 *
 * @param mapS the first job: map stage, and a first reading
 * @param reads the measured readings
 * @param registeredBytes registered by the owner and in the reader's sink pool at the end
 */
record ShuffleRun(
        String manager,
        double mapS,
        java.util.List<Reading> reads,
        long rdmaBytes,
        long tcpBytes,
        Map<String, Long> fallbacks,
        long registeredBytes) {

    record Reading(double wallS, double ownerCpuS, double readerCpuS, double driverCpuS) {}
}

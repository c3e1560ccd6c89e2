package io.rdmashuffle.integration.bench;

import java.util.List;
import java.util.Map;

/**
 * One application of the shuffle benchmark. Times in seconds; CPU of whole processes as the operating system counts it, of tasks as
 * Spark does.
 *
 * @param firstJobS map stage and first reading, in a cold JVM
 * @param mapTaskS run time of all map tasks together
 * @param reads the measured readings
 * @param idleCpuS CPU seconds of both executors in each second without work
 * @param peakResidentBytes of the larger executor
 * @param sqlAdaptiveS a job of Spark SQL that shuffles as many bytes, with adaptive execution; sqlPlainS without
 */
record ShuffleRun(
        double firstJobS,
        double mapTaskS,
        List<Reading> reads,
        double idleCpuS,
        long peakResidentBytes,
        Moved moved,
        double sqlAdaptiveS,
        double sqlPlainS) {

    /**
     * One run of the reduce stage.
     *
     * @param standInCpuS part of readerCpuS: of the thread that does what an RDMA device would do
     */
    record Reading(
            double wallS,
            double ownerCpuS,
            double readerCpuS,
            double driverCpuS,
            double standInCpuS,
            double reduceTaskCpuS,
            double fetchWaitS) {

        double cpuS() {
            return ownerCpuS + readerCpuS + driverCpuS;
        }
    }

    /**
     * What our shuffle says of the application.
     *
     * @param pinnedBytes registered in both executors at the end
     * @param publishS time in which map tasks registered and announced their outputs; registrationS is part of it
     */
    record Moved(
            long rdmaBytes,
            long tcpBytes,
            Map<String, Long> fallbacks,
            long pinnedBytes,
            double registrationS,
            double publishS) {

        static final Moved NOTHING = new Moved(0, 0, Map.of(), 0, 0, 0);
    }
}

package io.rdmashuffle.integration.bench;

import io.rdmashuffle.integration.Median;
import java.util.List;
import java.util.Map;

/**
 * One application of the shuffle benchmark. Times in seconds; CPU of whole processes as the operating system counts it, of tasks as
 * Spark does.
 *
 * @param firstJobS map stage and first reading, in a cold JVM
 * @param mapTasksS run time of each map task, in the order in which they ended
 * @param reads the measured readings
 * @param idleCpuS CPU seconds of both executors in each second without work
 * @param peakResidentBytes of the larger executor
 * @param sql jobs of Spark SQL that shuffle about as many bytes
 */
record ShuffleRun(
        double firstJobS,
        List<Double> mapTasksS,
        List<Reading> reads,
        double idleCpuS,
        long peakResidentBytes,
        Moved moved,
        SqlShuffle.Jobs sql) {

    double mapTaskS() {
        return mapTasksS.stream().mapToDouble(Double::doubleValue).sum();
    }

    /** It pays for what starts with the first task. */
    double firstMapTaskS() {
        return mapTasksS.get(0);
    }

    /** Of the later half, when the JVM has warmed up. */
    double warmMapTaskS() {
        return Median.of(mapTasksS.stream().skip(mapTasksS.size() / 2).mapToDouble(Double::doubleValue));
    }

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

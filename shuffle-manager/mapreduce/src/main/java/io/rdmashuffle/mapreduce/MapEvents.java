package io.rdmashuffle.mapreduce;

import java.io.IOException;
import org.apache.hadoop.mapred.MapTaskCompletionEventsUpdate;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskCompletionEvent;
import org.apache.hadoop.mapred.TaskUmbilicalProtocol;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleScheduler;

/**
 * Asks the ApplicationMaster for map completion events and tells the scheduler, as Hadoop's own EventFetcher does, which only
 * Hadoop's own package can use. A thread of its own; ends when interrupted.
 */
final class MapEvents implements Runnable {

    private static final long PERIOD_MILLIS = 1000;
    private static final long RETRY_MILLIS = 5000;
    private static final int MAX_FAILURES = 10;
    /** Bounds what all reducers together ask of the ApplicationMaster at a time. */
    private static final int MAX_OUTSTANDING = 3_000_000;

    private static final int MIN_BATCH = 100;
    private static final int MAX_BATCH = 10_000;

    private final TaskAttemptID reduce;
    private final TaskUmbilicalProtocol umbilical;
    private final ShuffleScheduler<?, ?> scheduler;
    private final ExceptionReporter failures;
    private final int batch;
    private int seen;

    MapEvents(
            TaskAttemptID reduce,
            TaskUmbilicalProtocol umbilical,
            ShuffleScheduler<?, ?> scheduler,
            ExceptionReporter failures,
            int reduces) {
        this.reduce = reduce;
        this.umbilical = umbilical;
        this.scheduler = scheduler;
        this.failures = failures;
        this.batch = Math.min(MAX_BATCH, Math.max(MIN_BATCH, MAX_OUTSTANDING / reduces));
    }

    @Override
    public void run() {
        int failed = 0;
        try {
            while (true) {
                try {
                    poll();
                    failed = 0;
                    Thread.sleep(PERIOD_MILLIS);
                } catch (IOException e) {
                    if (++failed >= MAX_FAILURES) {
                        throw new IOException("the ApplicationMaster gives no map completion events", e);
                    }
                    Thread.sleep(RETRY_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the shuffle is done
        } catch (IOException | RuntimeException e) {
            failures.reportException(e);
        }
    }

    private void poll() throws IOException, InterruptedException {
        TaskCompletionEvent[] events;
        do {
            MapTaskCompletionEventsUpdate update =
                    umbilical.getMapCompletionEvents(reduce.getJobID(), seen, batch, reduce);
            events = update.getMapTaskCompletionEvents();
            seen += events.length;
            for (TaskCompletionEvent event : events) {
                scheduler.resolve(event);
            }
        } while (events.length == batch);
    }
}

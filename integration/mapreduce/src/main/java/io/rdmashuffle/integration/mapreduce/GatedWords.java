package io.rdmashuffle.integration.mapreduce;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapreduce.Job;

/** The maps of {@link WordCount}, all but the first of which wait until a file exists. Made with {@link #in}. */
public final class GatedWords extends WordCount.Words {

    private static final String GATE = "rdmashuffle.test.gate";
    private static final long PAUSE_MILLIS = 50;

    public static Job in(Job wordCount, Path gate) {
        wordCount.getConfiguration().set(GATE, gate.toString());
        wordCount.setMapperClass(GatedWords.class);
        return wordCount;
    }

    @Override
    protected void setup(Context context) throws InterruptedException {
        Path gate = Path.of(context.getConfiguration().get(GATE));
        boolean first = context.getTaskAttemptID().getTaskID().getId() == 0;
        while (!first && !Files.exists(gate)) {
            Thread.sleep(PAUSE_MILLIS);
            context.progress();
        }
    }
}

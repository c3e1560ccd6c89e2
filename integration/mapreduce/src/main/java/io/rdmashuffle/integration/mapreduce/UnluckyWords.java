package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import org.apache.hadoop.mapreduce.Job;

/**
 * The maps of {@link WordCount}, of which the first attempts of two come to nothing: that of the first never ends, so that another
 * must overtake it, and that of the second fails with all words written. Made with {@link #in}.
 */
public final class UnluckyWords extends WordCount.Words {

    private static final long PAUSE_MILLIS = 50;

    public static Job in(Job wordCount) {
        wordCount.setMapperClass(UnluckyWords.class);
        return wordCount;
    }

    @Override
    protected void cleanup(Context context) throws IOException, InterruptedException {
        boolean first = context.getTaskAttemptID().getId() == 0;
        int map = context.getTaskAttemptID().getTaskID().getId();
        while (first && map == 0) {
            Thread.sleep(PAUSE_MILLIS);
            context.progress();
        }
        if (first && map == 1) {
            throw new IOException("failed on purpose");
        }
    }
}

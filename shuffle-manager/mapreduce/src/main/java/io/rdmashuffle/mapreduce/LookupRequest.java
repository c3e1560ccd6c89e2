package io.rdmashuffle.mapreduce;

import io.netty.handler.codec.http.QueryStringDecoder;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;

/**
 * A reducer's question to a NodeManager, asked on the shuffle port: where can its partition of these map outputs be read? The
 * parameters are not called as those of a stock request: a stock handler looks at no path, and would answer with the data.
 *
 * @param maps attempts of map tasks of the job
 */
record LookupRequest(JobID job, int reduce, List<TaskAttemptID> maps) {

    static final String PATH = "/rdmaShuffle";

    /** Version of question and answer. */
    static final int VERSION = 1;

    private static final String VERSION_KEY = "v";
    private static final String JOB = "j";
    private static final String REDUCE = "r";
    private static final String MAPS = "m";

    /** @param shuffleUrl of the NodeManager's shuffle port, as a map's completion event gives it */
    URL url(URL shuffleUrl) throws MalformedURLException {
        String ids = maps.stream().map(TaskAttemptID::toString).collect(Collectors.joining(","));
        return new URL(
                shuffleUrl,
                PATH + "?" + VERSION_KEY + "=" + VERSION + "&" + JOB + "=" + job + "&" + REDUCE + "=" + reduce + "&"
                        + MAPS + "=" + ids);
    }

    /**
     * Takes nothing on trust, as the ids become paths: each must be written exactly as Hadoop writes it.
     *
     * @throws IllegalArgumentException saying what is wrong
     */
    static LookupRequest parse(String uri) {
        Map<String, List<String>> parameters = new QueryStringDecoder(uri).parameters();
        if (!only(parameters, VERSION_KEY).equals(String.valueOf(VERSION))) {
            throw new IllegalArgumentException("a version that is not served");
        }
        JobID job = parseJob(only(parameters, JOB));
        int reduce = Integer.parseInt(only(parameters, REDUCE));
        if (reduce < 0) {
            throw new IllegalArgumentException("a negative reduce partition");
        }
        return new LookupRequest(
                job,
                reduce,
                Stream.of(only(parameters, MAPS).split(",", -1))
                        .map(text -> parseMap(text, job))
                        .toList());
    }

    private static String only(Map<String, List<String>> parameters, String name) {
        List<String> values = parameters.getOrDefault(name, List.of());
        if (values.size() != 1) {
            throw new IllegalArgumentException("parameter " + name + " is wanted once");
        }
        return values.get(0);
    }

    private static JobID parseJob(String text) {
        JobID job = JobID.forName(text);
        if (!job.toString().equals(text)) {
            throw new IllegalArgumentException("not a job id");
        }
        return job;
    }

    private static TaskAttemptID parseMap(String text, JobID job) {
        TaskAttemptID map = TaskAttemptID.forName(text);
        if (map == null
                || !map.toString().equals(text)
                || map.getTaskType() != TaskType.MAP
                || !map.getJobID().equals(job)) {
            throw new IllegalArgumentException("not a map attempt of " + job);
        }
        return map;
    }
}

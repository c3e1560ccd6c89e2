package io.rdmashuffle.integration.mapreduce;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.examples.terasort.TeraSort;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Hadoop's sorting benchmark, of its examples. */
public final class Tera {

    private Tera() {}

    /** Generates rows of 100 bytes. */
    public static void generate(Configuration conf, long rows, int maps, Path output) throws Exception {
        Configuration settings = new Configuration(conf);
        settings.setInt("mapreduce.job.maps", maps);
        run(settings, new TeraGen(), Long.toString(rows), output.toString());
    }

    /** Answers the job, which has ended. */
    public static Job sort(Configuration conf, Path input, Path output, int reduces) throws Exception {
        Configuration settings = new Configuration(conf);
        settings.setInt("mapreduce.job.reduces", reduces);
        // the other one's file of split points is not found where the local file system is the default one
        settings.setBoolean("mapreduce.terasort.simplepartitioner", true);
        run(settings, new TeraSort(), input.toString(), output.toString());
        return lastJob(settings);
    }

    /** Fails when the rows are not in order; writes their checksum. */
    public static void validate(Configuration conf, Path input, Path output) throws Exception {
        run(new Configuration(conf), new TeraValidate(), input.toString(), output.toString());
    }

    private static void run(Configuration conf, Tool tool, String... arguments) throws Exception {
        int status = ToolRunner.run(conf, tool, arguments);
        if (status != 0) {
            throw new IllegalStateException(tool.getClass().getSimpleName() + " failed");
        }
    }

    private static Job lastJob(Configuration conf) throws Exception {
        Cluster cluster = new Cluster(conf);
        JobStatus last = null;
        for (JobStatus status : cluster.getAllJobStatuses()) {
            if (last == null || status.getJobID().getId() > last.getJobID().getId()) {
                last = status;
            }
        }
        return cluster.getJob(last.getJobID());
    }
}

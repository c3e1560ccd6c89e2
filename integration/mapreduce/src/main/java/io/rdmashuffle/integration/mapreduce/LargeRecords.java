package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Each line of input, a number, becomes a record of a mebibyte of random bytes, of which one reducer writes the digest. */
public final class LargeRecords {

    private LargeRecords() {}

    public static Job job(Configuration conf, Path input, Path output) throws IOException {
        Job job = Job.getInstance(conf, "LargeRecords");
        job.setMapperClass(Grow.class);
        job.setReducerClass(Digest.class);
        job.setOutputKeyClass(Text.class);
        job.setMapOutputValueClass(BytesWritable.class);
        job.setOutputValueClass(Text.class);
        job.setNumReduceTasks(1);
        FileInputFormat.addInputPath(job, input);
        FileOutputFormat.setOutputPath(job, output);
        return job;
    }

    static final class Grow extends Mapper<LongWritable, Text, Text, BytesWritable> {

        private final byte[] bytes = new byte[1 << 20];

        @Override
        protected void map(LongWritable offset, Text number, Context context) throws IOException, InterruptedException {
            new Random(Long.parseLong(number.toString())).nextBytes(bytes);
            context.write(number, new BytesWritable(bytes));
        }
    }

    static final class Digest extends Reducer<Text, BytesWritable, Text, Text> {

        @Override
        protected void reduce(Text number, Iterable<BytesWritable> values, Context context)
                throws IOException, InterruptedException {
            for (BytesWritable value : values) {
                context.write(number, new Text(HexFormat.of().formatHex(digest(value))));
            }
        }

        private static byte[] digest(BytesWritable value) {
            try {
                MessageDigest sha = MessageDigest.getInstance("SHA-256");
                sha.update(value.getBytes(), 0, value.getLength());
                return sha.digest();
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java platform has SHA-256", e);
            }
        }
    }
}

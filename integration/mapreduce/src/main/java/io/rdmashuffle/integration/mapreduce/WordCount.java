package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.util.StringTokenizer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Counts words with a combiner, sorts them backwards, and leaves the first and the last reduce partition empty. */
public final class WordCount {

    private WordCount() {}

    public static Job job(Configuration conf, Path input, Path output, int reduces) throws IOException {
        Job job = Job.getInstance(conf, "WordCount");
        job.setMapperClass(Words.class);
        job.setCombinerClass(Sum.class);
        job.setReducerClass(Sum.class);
        job.setPartitionerClass(InnerPartitions.class);
        job.setSortComparatorClass(Backwards.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(IntWritable.class);
        job.setNumReduceTasks(reduces);
        FileInputFormat.addInputPath(job, input);
        FileOutputFormat.setOutputPath(job, output);
        return job;
    }

    static class Words extends Mapper<LongWritable, Text, Text, IntWritable> {

        private static final IntWritable ONE = new IntWritable(1);

        private final Text word = new Text();

        @Override
        protected void map(LongWritable offset, Text line, Context context) throws IOException, InterruptedException {
            StringTokenizer words = new StringTokenizer(line.toString());
            while (words.hasMoreTokens()) {
                word.set(words.nextToken());
                context.write(word, ONE);
            }
        }
    }

    static final class Sum extends Reducer<Text, IntWritable, Text, IntWritable> {

        @Override
        protected void reduce(Text word, Iterable<IntWritable> counts, Context context)
                throws IOException, InterruptedException {
            int sum = 0;
            for (IntWritable count : counts) {
                sum += count.get();
            }
            context.write(word, new IntWritable(sum));
        }
    }

    static final class InnerPartitions extends Partitioner<Text, IntWritable> {

        @Override
        public int getPartition(Text word, IntWritable count, int partitions) {
            return partitions < 3 ? partitions - 1 : 1 + (word.hashCode() & Integer.MAX_VALUE) % (partitions - 2);
        }
    }

    static final class Backwards extends WritableComparator {

        Backwards() {
            super(Text.class, true);
        }

        @Override
        @SuppressWarnings("rawtypes") // as Hadoop declares it
        public int compare(WritableComparable left, WritableComparable right) {
            return ((Text) right).compareTo((Text) left);
        }
    }
}

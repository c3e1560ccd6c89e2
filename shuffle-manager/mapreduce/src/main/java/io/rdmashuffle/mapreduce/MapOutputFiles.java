package io.rdmashuffle.mapreduce;

import java.io.IOException;
import java.lang.ref.SoftReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.SecureIOUtils;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/**
 * Finds map outputs in the NodeManager's local directories, as the stock handler does: where the job's user keeps the output of
 * that attempt, and only files of that user. Any thread.
 */
final class MapOutputFiles {

    private final JobConf conf;
    private final Supplier<AuxiliaryLocalPathHandler> localDirs;

    /** A map output's files; its index is kept as long as there is memory to spare. */
    static final class Located {

        private final Path data;
        private final org.apache.hadoop.fs.Path index;
        private final int ownerUid;
        private SoftReference<SpillRecord> record = new SoftReference<>(null); // under this

        private Located(Path data, org.apache.hadoop.fs.Path index, int ownerUid) {
            this.data = data;
            this.index = index;
            this.ownerUid = ownerUid;
        }

        Path data() {
            return data;
        }

        /** Whom the data file must belong to: who owns the user's directory, which only the NodeManager can make. */
        int ownerUid() {
            return ownerUid;
        }
    }

    MapOutputFiles(Configuration conf, Supplier<AuxiliaryLocalPathHandler> localDirs) {
        this.conf = new JobConf(conf);
        this.localDirs = localDirs;
    }

    /**
     * @param map of a parsed id, so that its text is no path
     * @throws IOException when there is no such output, or it is not the user's
     */
    Located locate(TaskAttemptID map, String user) throws IOException {
        JobID job = map.getJobID();
        ApplicationId application = ApplicationId.newInstance(Long.parseLong(job.getJtIdentifier()), job.getId());
        String home = "usercache/" + user;
        String directory = String.join("/", home, "appcache", application.toString(), "output", map + "/");
        Path data = local(directory + "file.out");
        SecureIOUtils.openForRandomRead(data.toFile(), "r", user, null).close();
        int ownerUid = (int) Files.getAttribute(local(home), "unix:uid");
        return new Located(data, localDirs.get().getLocalPathForRead(directory + "file.out.index"), ownerUid);
    }

    private Path local(String name) throws IOException {
        return Path.of(localDirs.get().getLocalPathForRead(name).toUri().getPath());
    }

    /** @throws IOException when the index cannot be read, is damaged, is not the user's, or has no such partition */
    IndexRecord index(Located output, int reduce, String user) throws IOException {
        SpillRecord record;
        synchronized (output) {
            record = output.record.get();
            if (record == null) {
                record = new SpillRecord(output.index, conf, user);
                output.record = new SoftReference<>(record);
            }
        }
        if (reduce >= record.size()) {
            throw new IOException("no reduce partition " + reduce + " of " + record.size());
        }
        return record.getIndex(reduce);
    }
}

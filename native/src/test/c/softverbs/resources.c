/*
 * Counts this process's live objects where a test can read them: native ints in the order of enum
 * sv_resource, in the file named by the pid in the directory SOFTVERBS_RESOURCES.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softverbs.h"

static _Atomic int32_t *counts;
static pid_t counting; /* a child after fork counts for itself */

static void open_counts(const char *directory) {
    char path[PATH_MAX];
    size_t bytes = SV_RESOURCES * sizeof(*counts);
    mkdir(directory, 0700); /* it may be there */
    snprintf(path, sizeof(path), "%s/%d", directory, counting);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *mapping = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        fprintf(stderr, "softverbs: SOFTVERBS_RESOURCES: no file %s\n", path);
        _Exit(64);
    }
    close(fd);
    counts = mapping;
}

void sv_resource_count(enum sv_resource resource, int change) {
    const char *directory = getenv("SOFTVERBS_RESOURCES");
    if (!directory) return;
    if (counting != getpid()) {
        counting = getpid();
        open_counts(directory);
    }
    counts[resource] += change;
}

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rs_internal.h"

int rs_region_register(struct rs_endpoint *ep, uint64_t address, uint64_t length_bytes, int access,
                       struct rs_region **out) {
    struct rs_region *region = calloc(1, sizeof(*region));
    if (!region) return rs_fail("calloc", ENOMEM);
    region->ep = ep;
    /* Outside the lock: pinning takes long. */
    region->mr = rs_dl.ibv_reg_mr(ep->pd, (void *)(uintptr_t)address, length_bytes, access);
    if (!region->mr) {
        int rc = rs_fail("ibv_reg_mr", errno);
        free(region);
        return rc;
    }
    pthread_mutex_lock(&ep->regions_lock);
    LIST_INSERT_HEAD(&ep->regions, region, link);
    pthread_mutex_unlock(&ep->regions_lock);
    *out = region;
    return 0;
}

uint32_t rs_region_lkey(const struct rs_region *region) { return region->mr->lkey; }

uint32_t rs_region_rkey(const struct rs_region *region) { return region->mr->rkey; }

void rs_region_deregister(struct rs_region *region) {
    struct rs_endpoint *ep = region->ep;
    pthread_mutex_lock(&ep->regions_lock);
    LIST_REMOVE(region, link);
    pthread_mutex_unlock(&ep->regions_lock);
    rs_dl.ibv_dereg_mr(region->mr);
    free(region);
}

int rs_map_file(const char *path, bool writable, void **address, uint64_t *length_bytes,
                uint32_t *owner_uid) {
    int rc = 0;
    int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) return rs_fail("open", errno);
    struct statx status; /* unlike fstat's, its symbol is older than glibc 2.33 */
    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_UID, &status)) {
        rc = rs_fail("statx", errno);
        goto close;
    }
    if (!S_ISREG(status.stx_mode) || status.stx_size == 0) {
        rc = rs_fail(S_ISREG(status.stx_mode) ? "mapping an empty file" : "mapping what is no file",
                     EINVAL);
        goto close;
    }
    void *mapping = mmap(NULL, (size_t)status.stx_size,
                         writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        rc = rs_fail("mmap", errno);
        goto close;
    }
    *address = mapping;
    *length_bytes = status.stx_size;
    *owner_uid = status.stx_uid;
close:
    close(fd);
    return rc;
}

int rs_allocate(uint64_t length_bytes, void **address) {
    void *memory =
        mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return rs_fail("mmap", errno);
    /* A fork must not make copy-on-write of pinned pages: the parent could lose the ones the device
     * knows. */
    if (madvise(memory, length_bytes, MADV_DONTFORK)) {
        int rc = rs_fail("madvise", errno);
        munmap(memory, length_bytes);
        return rc;
    }
    madvise(memory, length_bytes,
            MADV_HUGEPAGE); /* a hint: cheaper to pin; kernels without THP refuse */
    *address = memory;
    return 0;
}

void rs_unmap(void *address, uint64_t length_bytes) { munmap(address, length_bytes); }

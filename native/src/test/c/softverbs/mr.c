/* Memory regions: what the kernel checks and counts when it pins, without pinning. */
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softverbs.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct sv_mr {
    struct ibv_mr mr;
    struct sv_mr_slot *slot;
    uint64_t pinned;
};

static uint64_t pinned_total;

void sv_mrs_forget(void) { pinned_total = 0; }

static uint64_t page_size(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

static bool may_pin_without_limit(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data)) return false;
    return data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK);
}

/* RLIMIT_MEMLOCK as ib_core counts it; siw counts root too and has one errno only. */
static int check_memlock(const struct ibv_context *context, uint64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY) return 0;
    if (!sv_is_iwarp(context)) {
        if (may_pin_without_limit()) return 0;
        if (limit.rlim_cur == 0) return EPERM;
    }
    return pinned_total + bytes > limit.rlim_cur ? ENOMEM : 0;
}

static bool on_memory_fs(const char *path) {
    struct statfs fs;
    if (statfs(path, &fs)) return true; /* deleted or anonymous: memory, as far as we can see */
    return fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

/*
 * The kernel's rules for shared file mappings. Before 6.2 pinning always asked for write access;
 * since 6.5 a writable long-term pin of a page of a disk file is refused.
 */
static bool mapping_refused(uint64_t start, uint64_t end, uint32_t access) {
    const char *kernel = getenv("SOFTVERBS_KERNEL");
    bool old = kernel && !strcmp(kernel, "6.1");
    bool writable = access & ~(uint32_t)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING);
    bool refused = false;
    char line[4352], mode[5], path[4097];
    if (old ? false : !writable) return false;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return false;
    while (!refused && fgets(line, sizeof(line), maps)) {
        unsigned long from, to, inode;
        path[0] = '\0';
        if (sscanf(line, "%lx-%lx %4s %*x %*s %lu %4096[^\n]", &from, &to, mode, &inode, path) < 4)
            continue;
        if (to <= start || from >= end || mode[3] != 's') continue;
        refused = old ? mode[1] != 'w' : inode != 0 && !on_memory_fs(path);
    }
    fclose(maps);
    return refused;
}

static int check_access(const struct ibv_context *context, uint32_t access) {
    if ((access & IBV_ACCESS_ON_DEMAND) && !sv_device(context)->odp) return EOPNOTSUPP;
    const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                           IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE;
    const uint32_t remote_change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if (access & ~known) return EINVAL;
    if ((access & remote_change) && !(access & IBV_ACCESS_LOCAL_WRITE)) return EINVAL;
    return 0;
}

/* Touches the pages as pinning would: EFAULT for holes in the address space or beyond a file. */
static int populate(uint64_t start, uint64_t bytes, uint32_t access) {
    int advice = access & IBV_ACCESS_LOCAL_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    while (madvise((void *)start, bytes, advice)) {
        if (errno == EINTR || errno == EAGAIN) continue;
        return errno == ENOMEM || errno == EINVAL ? EFAULT : errno;
    }
    return 0;
}

static int pin(const struct ibv_context *context, uint64_t addr, size_t length, uint32_t access,
               uint64_t *pinned) {
    uint64_t start = addr & ~(page_size() - 1);
    uint64_t end = (addr + length + page_size() - 1) & ~(page_size() - 1);
    if (length == 0 || end <= start) return EINVAL;
    if (access & IBV_ACCESS_ON_DEMAND) return 0; /* nothing is pinned */
    *pinned = end - start;
    int rc = check_memlock(context, *pinned);
    if (!rc && mapping_refused(start, end, access)) rc = EFAULT;
    return rc ? rc : populate(start, *pinned, access);
}

static int publish(struct sv_mr *mr, uint64_t iova, uint32_t access) {
    struct sv_device *device = sv_device(mr->mr.context);
    if (device->fatal) return EIO;
    if (device->num_mr >= device->attr.max_mr) return ENOMEM;
    int rc = mr->pinned ? check_memlock(mr->mr.context, mr->pinned)
                        : 0; /* again: others registered meanwhile */
    if (rc) return rc;
    struct sv_mr_slot region = {.iova = iova,
                                .length = mr->mr.length,
                                .va = (uintptr_t)mr->mr.addr,
                                .pd = mr->mr.pd->handle,
                                .access = access};
    if (!(mr->slot = sv_table_publish_mr(&region, &mr->mr.lkey))) return ENOMEM;
    mr->mr.rkey = mr->mr.lkey;
    device->num_mr++;
    sv_resource_count(SV_MR, 1);
    pinned_total += mr->pinned;
    ((struct sv_pd *)mr->mr.pd)->users++;
    return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access) {
    uint64_t pinned = 0;
    struct sv_mr *mr = NULL;
    int rc = sv_fault_call(SV_OP_REG_MR);
    if (!rc) rc = check_access(pd->context, access);
    if (!rc) rc = pin(pd->context, (uintptr_t)addr, length, access, &pinned);
    if (!rc && !(mr = calloc(1, sizeof(*mr)))) rc = ENOMEM;
    if (rc) goto fail;
    mr->mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = addr, .length = length};
    mr->pinned = pinned;
    if (sv_is_iwarp(pd->context)) iova = (uintptr_t)addr; /* siw takes no notice of it */
    pthread_mutex_lock(&sv_lock);
    rc = publish(mr, iova, access);
    pthread_mutex_unlock(&sv_lock);
    if (!rc) return &mr->mr;
fail:
    free(mr);
    errno = rc;
    return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access) {
    return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

/* On return nothing of ours touches the memory any more. */
int ibv_dereg_mr(struct ibv_mr *mr) {
    struct sv_mr *mine = (struct sv_mr *)mr;
    pthread_mutex_lock(&sv_lock);
    sv_table_withdraw_mr(mine->slot);
    sv_engine_wait_batch();
    sv_device(mr->context)->num_mr--;
    sv_resource_count(SV_MR, -1);
    pinned_total -= mine->pinned;
    ((struct sv_pd *)mr->pd)->users--;
    pthread_mutex_unlock(&sv_lock);
    free(mine);
    return 0;
}

bool sv_mr_allows(const struct sv_mr_slot *slot, uint32_t pd, uint64_t addr, uint64_t length,
                  uint32_t access) {
    return slot && slot->pd == pd && (slot->access & access) == access && addr >= slot->iova &&
           length <= slot->length && addr - slot->iova <= slot->length - length;
}

/*
 * The table of a process: its memory regions and queue pairs as peers see them. It is a memfd that
 * is handed to each peer over the connection, so it goes away with the last process that uses it
 * and no file name, pid or dead process can be taken for another.
 */
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "softverbs.h"

static struct sv_table *own;
static int own_fd = -1;
static int live_mrs, live_qps; /* at most half of the slots: free ones are found quickly */

uint32_t sv_random(void) {
    uint32_t value = 0;
    while (getrandom(&value, sizeof(value), 0) != sizeof(value)) continue;
    return value;
}

struct sv_table *sv_table_own(void) {
    if (own) return own;
    int fd = memfd_create("softverbs", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    if (ftruncate(fd, sizeof(*own))) goto fail;
    void *table = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED) goto fail;
    own_fd = fd;
    return own = table;
fail:
    close(fd);
    return NULL;
}

int sv_table_fd(void) { return sv_table_own() ? own_fd : -1; }

const struct sv_table *sv_table_map_peer(int fd) {
    void *table = mmap(NULL, sizeof(*own), PROT_READ, MAP_SHARED, fd, 0);
    return table == MAP_FAILED ? NULL : table;
}

void sv_table_unmap_peer(const struct sv_table *table) {
    if (table) munmap((void *)table, sizeof(*table));
}

/* Draws keys until one falls on a free slot: never guessable, and found again by one probe. */
struct sv_mr_slot *sv_table_publish_mr(const struct sv_mr_slot *region, uint32_t *key) {
    struct sv_mr_slot *slot;
    uint64_t tag;
    if (!sv_table_own() || live_mrs == SV_MAX_MR) return NULL;
    do {
        *key = sv_random();
        slot = &own->mr[*key % SV_MR_SLOTS];
        tag = atomic_load(&slot->tag);
    } while (*key == 0 || (uint32_t)tag != 0);
    live_mrs++;
    slot->iova = region->iova;
    slot->length = region->length;
    slot->va = region->va;
    slot->pd = region->pd;
    slot->access = region->access;
    atomic_store(&slot->tag, (((tag >> 32) + 1) << 32) | *key);
    return slot;
}

void sv_table_withdraw_mr(struct sv_mr_slot *slot) {
    live_mrs--;
    atomic_store(&slot->tag, atomic_load(&slot->tag) >> 32 << 32);
}

struct sv_qp_slot *sv_table_publish_qp(uint32_t pd) {
    struct sv_qp_slot *slot;
    uint32_t qp_num;
    if (!sv_table_own() || live_qps == SV_MAX_QP) return NULL;
    do {
        qp_num = sv_random() & 0xffffff; /* 24 bits on the wire */
        slot = &own->qp[qp_num % SV_QP_SLOTS];
    } while (qp_num < 2 || atomic_load(&slot->qp_num) != 0); /* 0 and 1 are special QPs */
    live_qps++;
    slot->pd = pd;
    atomic_store(&slot->state, IBV_QPS_RESET);
    atomic_store(&slot->max_dest_rd_atomic, 0);
    atomic_store(&slot->qp_num, qp_num);
    return slot;
}

void sv_table_withdraw_qp(struct sv_qp_slot *slot) {
    live_qps--;
    atomic_store(&slot->qp_num, 0);
}

const struct sv_mr_slot *sv_table_find_mr(const struct sv_table *table, uint32_t key,
                                          uint64_t *tag) {
    const struct sv_mr_slot *slot = &table->mr[key % SV_MR_SLOTS];
    *tag = atomic_load(&slot->tag);
    return key != 0 && (uint32_t)*tag == key ? slot : NULL;
}

const struct sv_qp_slot *sv_table_find_qp(const struct sv_table *table, uint32_t qp_num) {
    const struct sv_qp_slot *slot = &table->qp[qp_num % SV_QP_SLOTS];
    return atomic_load(&slot->qp_num) == qp_num ? slot : NULL;
}

void sv_table_forget(void) {
    if (own) munmap(own, sizeof(*own));
    if (own_fd >= 0) close(own_fd);
    own = NULL;
    own_fd = -1;
    live_mrs = live_qps = 0;
}

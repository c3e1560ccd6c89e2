/*
 * Executes send queues, in order, in the loop's thread. Adjacent one-sided requests of a queue pair
 * go into one process_vm_readv or process_vm_writev, done with the lock released.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "cm.h"

enum {
    BATCH_WRS = 128,
    BATCH_IOV = 1024, /* IOV_MAX */
    BATCH_BYTES = 512 << 10,
    RETRY_MS = 16000, /* what rxe takes with the timeout rdma_cm gives it */
    RETRY_FOR_EVER = 7,
};

struct item {
    struct sv_wqe *wqe;
    const struct sv_mr_slot *source;
    uint64_t tag;
    size_t bytes;
};

/* There is one engine thread, so one batch at a time. */
static struct {
    bool running;
    uint64_t sequence;
    bool write;
    struct item items[BATCH_WRS];
    struct iovec local[BATCH_IOV], remote[BATCH_WRS];
    size_t num_items, num_local, bytes;
} batch;

/* Waits for the batch that may be copying now, not for those after it. */
void sv_engine_wait_batch(void) {
    uint64_t sequence = batch.sequence;
    while (batch.running && batch.sequence == sequence) pthread_cond_wait(&sv_changed, &sv_lock);
}

static bool is_atomic(const struct sv_wqe *wqe) {
    return wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static uint64_t retry_ms(void) {
    const char *env = getenv("SOFTVERBS_RETRY_MS");
    return env ? strtoull(env, NULL, 10) : RETRY_MS;
}

static void wait_for(struct sv_qp *qp, enum sv_wait why, uint64_t ms) {
    qp->wait = why;
    sv_timer_set(&qp->timer, ms);
}

static void wait_for_peer(struct sv_qp *qp) {
    if (qp->retry_cnt == RETRY_FOR_EVER)
        qp->wait = SV_WAIT_RETRY;
    else
        wait_for(qp, SV_WAIT_RETRY, retry_ms());
}

/*
 * The head of the queue failed: its completion says why, the rest is flushed. The peer's queue pair
 * fails too when it was the one to refuse. iWARP hides the cause and drops the connection.
 */
void sv_engine_fail(struct sv_qp *qp, enum ibv_wc_status status) {
    struct sv_msg msg = {.type = SV_QP_ERR};
    bool iwarp = sv_is_iwarp(qp->qp.context);
    bool refused = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
                   status == IBV_WC_REM_OP_ERR;
    sv_qp_complete_send(qp, iwarp ? IBV_WC_WR_FLUSH_ERR : status);
    sv_qp_error(qp);
    if (!qp->link) return;
    if (iwarp)
        shutdown(qp->link->source.fd, SHUT_RDWR);
    else if (refused)
        sv_link_send(qp->link, &msg);
}

void sv_engine_timer(struct sv_timer *timer) {
    struct sv_qp *qp = container_of(timer, struct sv_qp, timer);
    enum sv_wait why = qp->wait;
    qp->wait = SV_WAIT_NONE;
    if (why == SV_WAIT_RETRY && qp->sq.head != qp->sq.tail)
        sv_engine_fail(qp, IBV_WC_RETRY_EXC_ERR);
    else
        sv_task_queue(&qp->task);
}

/* ---- May the request run at all? ---- */

/* No answer will come: a dead peer, a destroyed queue pair there, a port that is down. */
static bool peer_silent(const struct sv_qp *qp) {
    const struct sv_link *link = qp->link;
    if (!link || link->peer_left || sv_device(qp->qp.context)->port_state != IBV_PORT_ACTIVE)
        return true;
    const struct sv_qp_slot *peer = sv_table_find_qp(link->peer_table, link->peer_qp_num);
    return !peer || (peer->state != IBV_QPS_RTS && peer->state != IBV_QPS_RTR);
}

static enum ibv_wc_status check_local(const struct sv_qp *qp, const struct sv_wqe *wqe) {
    bool sink = wqe->opcode == IBV_WR_RDMA_READ || is_atomic(wqe);
    uint32_t access = sink ? IBV_ACCESS_LOCAL_WRITE : 0;
    if (sink && sv_is_iwarp(qp->qp.context)) access |= IBV_ACCESS_REMOTE_WRITE;
    if (wqe->length > (uint64_t)sv_device(qp->qp.context)->max_msg) return IBV_WC_LOC_LEN_ERR;
    if (wqe->send_flags & IBV_SEND_INLINE) return IBV_WC_SUCCESS;
    for (int i = 0; i < wqe->num_sge; i++) {
        const struct ibv_sge *sge = &wqe->sge[i];
        uint64_t tag;
        const struct sv_mr_slot *mr = sv_table_find_mr(sv_table_own(), sge->lkey, &tag);
        if (sge->length && !sv_mr_allows(mr, qp->qp.pd->handle, sge->addr, sge->length, access))
            return IBV_WC_LOC_PROT_ERR;
    }
    return IBV_WC_SUCCESS;
}

static enum ibv_wc_status check_remote(const struct sv_qp *qp, const struct sv_wqe *wqe,
                                       struct item *item) {
    const struct sv_table *table = qp->link->peer_table;
    const struct sv_qp_slot *peer = sv_table_find_qp(table, qp->link->peer_qp_num);
    uint32_t access = wqe->opcode == IBV_WR_RDMA_READ    ? IBV_ACCESS_REMOTE_READ
                      : wqe->opcode == IBV_WR_RDMA_WRITE ? IBV_ACCESS_REMOTE_WRITE
                                                         : IBV_ACCESS_REMOTE_ATOMIC;
    if (wqe->opcode == IBV_WR_RDMA_READ) {
        if (qp->max_rd_atomic == 0) return IBV_WC_LOC_QP_OP_ERR;
        if (!peer || peer->max_dest_rd_atomic == 0) return IBV_WC_REM_INV_REQ_ERR;
    }
    item->source = sv_table_find_mr(table, wqe->rkey, &item->tag);
    if (!peer || !sv_mr_allows(item->source, peer->pd, wqe->remote_addr, wqe->length, access))
        return IBV_WC_REM_ACCESS_ERR;
    return is_atomic(wqe) ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS;
}

/* Draws the request's fault once. Most act only when the request has come to the queue's head. */
static bool fault_lets_pass(struct sv_qp *qp, struct sv_wqe *wqe) {
    struct ibv_async_event fatal = {.element.qp = &qp->qp, .event_type = IBV_EVENT_QP_FATAL};
    if (!wqe->fault_drawn) {
        wqe->fault = sv_fault_hit(wqe->opcode == IBV_WR_RDMA_READ    ? SV_OP_READ
                                  : wqe->opcode == IBV_WR_RDMA_WRITE ? SV_OP_WRITE
                                                                     : SV_OP_SEND);
        wqe->fault_drawn = true;
    }
    enum sv_action action = wqe->fault.action;
    if (action == SV_NONE || action == SV_DROP || action == SV_CORRUPT || action == SV_STATUS)
        return qp->qp.state == IBV_QPS_RTS; /* the device may just have died of it */
    if (wqe != sv_qp_head(qp)) return false;
    wqe->fault.action = SV_NONE;
    switch (action) {
        case SV_DELAY:
            wait_for(qp, SV_WAIT_DELAY, (uint64_t)wqe->fault.value);
            return false;
        case SV_DISCONNECT:
            shutdown(qp->link->source.fd, SHUT_RDWR);
            qp->wait = SV_WAIT_STALL;
            return false;
        case SV_EVENT:
            sv_cm_event(qp->link->owner, (enum rdma_cm_event_type)wqe->fault.value, 0);
            qp->wait = SV_WAIT_STALL;
            return false;
        case SV_STALL:
            qp->wait = SV_WAIT_STALL;
            return false;
        case SV_KILL_QP:
            sv_async_event(qp->qp.context, fatal, &qp->events);
            sv_qp_error(qp);
            return false;
        default:
            return true;
    }
}

/* The memory of a request, from its byte `skip` on. Its keys have been checked. */
size_t sv_wqe_gather(const struct sv_wqe *wqe, uint64_t skip, size_t bytes, struct iovec *out) {
    size_t n = 0;
    if (wqe->send_flags & IBV_SEND_INLINE) {
        out[0] = (struct iovec){.iov_base = wqe->inline_data + skip, .iov_len = bytes};
        return 1;
    }
    for (int i = 0; bytes; i++) {
        const struct ibv_sge *sge = &wqe->sge[i];
        if (skip >= sge->length) {
            skip -= sge->length;
            continue;
        }
        uint64_t tag;
        const struct sv_mr_slot *mr = sv_table_find_mr(sv_table_own(), sge->lkey, &tag);
        size_t part = sge->length - skip < bytes ? sge->length - skip : bytes;
        uint64_t va = mr->va + (sge->addr - mr->iova) + skip;
        out[n++] = (struct iovec){.iov_base = (void *)va, .iov_len = part};
        skip = 0;
        bytes -= part;
    }
    return n;
}

/* ---- The batch ---- */

/* Adds the request, or what there is room for of it. False: the batch ends before it. */
static bool add_request(struct sv_qp *qp, struct sv_wqe *wqe, enum ibv_wc_status *status) {
    struct item *item = &batch.items[batch.num_items];
    if (batch.num_items == BATCH_WRS || batch.bytes >= BATCH_BYTES) return false;
    if (batch.num_local + SV_MAX_SGE > BATCH_IOV) return false;
    if (!fault_lets_pass(qp, wqe)) return false;
    *item = (struct item){.wqe = wqe};
    if (wqe->fault.action == SV_STATUS)
        *status = (enum ibv_wc_status)wqe->fault.value;
    else if ((*status = check_local(qp, wqe)) == IBV_WC_SUCCESS && wqe->length)
        *status = check_remote(qp, wqe, item);
    if (*status != IBV_WC_SUCCESS) return false;
    item->bytes = wqe->length - wqe->done;
    if (item->bytes > BATCH_BYTES - batch.bytes) item->bytes = BATCH_BYTES - batch.bytes;
    if (item->bytes) {
        uint64_t offset = wqe->remote_addr - item->source->iova + wqe->done;
        batch.num_local +=
            sv_wqe_gather(wqe, wqe->done, item->bytes, &batch.local[batch.num_local]);
        batch.remote[batch.num_items] =
            (struct iovec){.iov_base = (void *)(item->source->va + offset), .iov_len = item->bytes};
    } else {
        batch.remote[batch.num_items] = (struct iovec){0};
    }
    batch.bytes += item->bytes;
    batch.num_items++;
    return true;
}

static void flip_byte(const struct sv_wqe *wqe) {
    struct iovec middle[SV_MAX_SGE];
    if (wqe->length && sv_wqe_gather(wqe, wqe->length / 2, 1, middle))
        *(uint8_t *)middle[0].iov_base ^= 0x40;
}

/* Copies without the lock. Returns the bytes moved, or -1 when the peer is gone. */
static ssize_t copy(struct sv_qp *qp) {
    pid_t pid = qp->link->peer_pid;
    ssize_t moved = 0;
    if (batch.bytes == 0) return 0;
    qp->busy = batch.running = true;
    batch.sequence++;
    pthread_mutex_unlock(&sv_lock);
    if (batch.write)
        moved =
            process_vm_writev(pid, batch.local, batch.num_local, batch.remote, batch.num_items, 0);
    else
        moved =
            process_vm_readv(pid, batch.local, batch.num_local, batch.remote, batch.num_items, 0);
    if (moved < 0 && errno == EPERM)
        fprintf(stderr, "softverbs: may not read process %d: other user, or ptrace forbidden\n",
                (int)pid);
    if (moved < 0) moved = errno == ESRCH ? -1 : 0;
    bool alive = sv_link_peer_alive(qp->link); /* else the pid may be another process by now */
    pthread_mutex_lock(&sv_lock);
    qp->busy = batch.running = false;
    pthread_cond_broadcast(&sv_changed);
    return alive ? moved : -1;
}

/* Books what was copied. False: a request failed, and the queue pair with it. */
static bool finish_items(struct sv_qp *qp, size_t moved) {
    for (size_t i = 0; i < batch.num_items; i++) {
        struct item *item = &batch.items[i];
        struct sv_wqe *wqe = item->wqe;
        bool stale = item->source && atomic_load(&item->source->tag) != item->tag;
        if (stale || moved < item->bytes) {
            sv_engine_fail(qp, IBV_WC_REM_ACCESS_ERR);
            return false;
        }
        moved -= item->bytes;
        wqe->done += item->bytes;
        if (wqe->done < wqe->length) return true;
        if (wqe->fault.action == SV_CORRUPT) flip_byte(wqe);
        sv_qp_complete_send(qp, IBV_WC_SUCCESS);
    }
    return true;
}

static void run_batch(struct sv_qp *qp) {
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    enum ibv_wr_opcode opcode = sv_qp_head(qp)->opcode;
    batch.num_items = batch.num_local = batch.bytes = 0;
    batch.write = opcode == IBV_WR_RDMA_WRITE;
    for (uint32_t at = qp->sq.head; at != qp->sq.tail; at++) {
        struct sv_wqe *wqe = &qp->wqes[at % qp->sq.depth];
        if (wqe->opcode != opcode || !add_request(qp, wqe, &status)) break;
    }
    if (qp->qp.state != IBV_QPS_RTS) return; /* a fault flushed it all */
    if (batch.num_items) {
        ssize_t moved = copy(qp);
        if (moved < 0) {
            wait_for_peer(qp);
            return;
        }
        if (!finish_items(qp, (size_t)moved)) return;
    }
    if (status != IBV_WC_SUCCESS && qp->qp.state == IBV_QPS_RTS) sv_engine_fail(qp, status);
}

static void run_send(struct sv_qp *qp) {
    struct sv_wqe *wqe = sv_qp_head(qp);
    if (!fault_lets_pass(qp, wqe)) return;
    enum ibv_wc_status status = wqe->fault.action == SV_STATUS
                                    ? (enum ibv_wc_status)wqe->fault.value
                                    : check_local(qp, wqe);
    if (status == IBV_WC_SUCCESS)
        sv_send_start(qp);
    else
        sv_engine_fail(qp, status);
}

void sv_engine_run(struct sv_task *task) {
    struct sv_qp *qp = container_of(task, struct sv_qp, task);
    if (qp->qp.state != IBV_QPS_RTS || qp->sq.head == qp->sq.tail) return;
    if (qp->wait == SV_WAIT_RETRY && !peer_silent(qp)) {
        sv_timer_cancel(&qp->timer);
        qp->wait = SV_WAIT_NONE;
    }
    if (qp->wait != SV_WAIT_NONE) return;
    if (peer_silent(qp)) {
        wait_for_peer(qp);
        return;
    }
    enum ibv_wr_opcode opcode = sv_qp_head(qp)->opcode;
    if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM)
        run_send(qp);
    else
        run_batch(qp);
    if (qp->wait == SV_WAIT_NONE) sv_task_queue(&qp->task);
}

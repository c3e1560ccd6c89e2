/* Queue pairs: creation, states, posting and completing. */
#include <stdlib.h>

#include "softverbs.h"

struct sv_qps sv_qps = LIST_HEAD_INITIALIZER(sv_qps);

static int check_init(struct ibv_pd *pd, const struct ibv_qp_init_attr *init) {
    struct sv_device *device = sv_device(pd->context);
    const struct ibv_device_attr *attr = &device->attr;
    const struct ibv_qp_cap *cap = &init->cap;
    if (device->fatal) return EIO;
    if (init->qp_type != IBV_QPT_RC || init->srq) return EOPNOTSUPP;
    if (!init->send_cq || !init->recv_cq) return EINVAL;
    if (cap->max_send_wr > (uint32_t)attr->max_qp_wr) return EINVAL;
    if (cap->max_recv_wr > (uint32_t)attr->max_qp_wr) return EINVAL;
    if (cap->max_send_sge > (uint32_t)attr->max_sge) return EINVAL;
    if (cap->max_recv_sge > (uint32_t)attr->max_sge) return EINVAL;
    if (cap->max_inline_data > SV_MAX_INLINE) return EINVAL;
    return device->num_qp >= attr->max_qp ? ENOMEM : 0;
}

static int alloc_queues(struct sv_qp *qp, const struct ibv_qp_cap *cap) {
    size_t send_sges = (size_t)cap->max_send_wr * cap->max_send_sge;
    size_t recv_sges = (size_t)cap->max_recv_wr * cap->max_recv_sge;
    qp->wqes = calloc(cap->max_send_wr + 1, sizeof(*qp->wqes));
    qp->rqes = calloc(cap->max_recv_wr + 1, sizeof(*qp->rqes));
    qp->sges = calloc(send_sges + recv_sges + 1, sizeof(*qp->sges));
    qp->inline_data = calloc(cap->max_send_wr + 1, cap->max_inline_data + 1);
    if (!qp->wqes || !qp->rqes || !qp->sges || !qp->inline_data) return ENOMEM;
    for (uint32_t i = 0; i < cap->max_send_wr; i++) {
        qp->wqes[i].sge = &qp->sges[(size_t)i * cap->max_send_sge];
        qp->wqes[i].inline_data = &qp->inline_data[(size_t)i * cap->max_inline_data];
    }
    for (uint32_t i = 0; i < cap->max_recv_wr; i++)
        qp->rqes[i].sge = &qp->sges[send_sges + (size_t)i * cap->max_recv_sge];
    qp->sq.depth = cap->max_send_wr;
    qp->rq.depth = cap->max_recv_wr;
    return 0;
}

static void free_qp(struct sv_qp *qp) {
    if (!qp) return;
    free(qp->wqes);
    free(qp->rqes);
    free(qp->sges);
    free(qp->inline_data);
    free(qp);
}

static void init_qp(struct sv_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *init) {
    qp->qp = (struct ibv_qp){.context = pd->context,
                             .qp_context = init->qp_context,
                             .pd = pd,
                             .send_cq = init->send_cq,
                             .recv_cq = init->recv_cq,
                             .qp_num = qp->slot->qp_num,
                             .state = IBV_QPS_RESET,
                             .qp_type = init->qp_type};
    pthread_mutex_init(&qp->qp.mutex, NULL);
    pthread_cond_init(&qp->qp.cond, NULL);
    qp->cap = init->cap;
    qp->sq_sig_all = init->sq_sig_all;
    qp->task.run = sv_engine_run;
    qp->timer.fire = sv_engine_timer;
    LIST_INSERT_HEAD(&sv_qps, qp, all);
    ((struct sv_cq *)init->send_cq)->users++;
    ((struct sv_cq *)init->recv_cq)->users++;
    ((struct sv_pd *)pd)->users++;
    sv_device(pd->context)->num_qp++;
    sv_resource_count(SV_QP, 1);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init) {
    struct sv_qp *qp = NULL;
    int rc = sv_fault_call(SV_OP_CREATE_QP);
    pthread_mutex_lock(&sv_lock);
    if (!rc) rc = check_init(pd, init);
    if (rc) goto fail;
    rc = ENOMEM;
    if (!(qp = calloc(1, sizeof(*qp)))) goto fail;
    if (alloc_queues(qp, &init->cap)) goto fail;
    if (!(qp->slot = sv_table_publish_qp(pd->handle))) goto fail;
    init_qp(qp, pd, init);
    pthread_mutex_unlock(&sv_lock);
    return &qp->qp;
fail:
    pthread_mutex_unlock(&sv_lock);
    free_qp(qp);
    errno = rc;
    return NULL;
}

void sv_qp_wait_idle(struct sv_qp *qp) {
    while (qp->busy) pthread_cond_wait(&sv_changed, &sv_lock);
}

/* On return nothing of ours touches the memory of its work requests any more. */
int ibv_destroy_qp(struct ibv_qp *qp) {
    struct sv_qp *mine = (struct sv_qp *)qp;
    pthread_mutex_lock(&sv_lock);
    sv_qp_set_state(mine, IBV_QPS_RESET);
    sv_table_withdraw_qp(mine->slot);
    sv_qp_wait_idle(mine);
    sv_task_cancel(&mine->task);
    sv_timer_cancel(&mine->timer);
    sv_event_purge(&sv_context(qp->context)->async, &mine->events);
    sv_event_wait_acked(&mine->events);
    if (mine->link) mine->link->qp = NULL;
    sv_cq_forget_qp((struct sv_cq *)qp->send_cq, mine);
    LIST_REMOVE(mine, all);
    ((struct sv_cq *)qp->send_cq)->users--;
    ((struct sv_cq *)qp->recv_cq)->users--;
    ((struct sv_pd *)qp->pd)->users--;
    sv_device(qp->context)->num_qp--;
    sv_resource_count(SV_QP, -1);
    pthread_mutex_unlock(&sv_lock);
    pthread_mutex_destroy(&qp->mutex);
    pthread_cond_destroy(&qp->cond);
    free_qp(mine);
    return 0;
}

void sv_qp_set_state(struct sv_qp *qp, enum ibv_qp_state state) {
    qp->qp.state = state;
    atomic_store(&qp->slot->max_dest_rd_atomic, qp->max_dest_rd_atomic);
    atomic_store(&qp->slot->state, state);
}

void sv_qp_complete_send(struct sv_qp *qp, enum ibv_wc_status status) {
    static const enum ibv_wc_opcode opcodes[] = {
        [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND] = IBV_WC_SEND,
        [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
        [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
        [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
    };
    const struct sv_wqe *wqe = sv_qp_head(qp);
    bool signaled = qp->sq_sig_all || (wqe->send_flags & IBV_SEND_SIGNALED);
    bool dropped = wqe->fault.action == SV_DROP;
    qp->sq.head++;
    if (dropped || (status == IBV_WC_SUCCESS && !signaled)) return;
    struct sv_cqe entry = {.wc = {.wr_id = wqe->wr_id,
                                  .status = status,
                                  .opcode = opcodes[wqe->opcode],
                                  .byte_len = (uint32_t)wqe->length,
                                  .qp_num = qp->qp.qp_num},
                           .qp = qp,
                           .sq_freed = qp->sq.head};
    if (status != IBV_WC_SUCCESS) /* the rest means nothing then: show it */
        entry.wc.opcode = 0xdead, entry.wc.byte_len = 0xdeadbeef;
    sv_cq_push((struct sv_cq *)qp->qp.send_cq, &entry, status != IBV_WC_SUCCESS);
}

void sv_qp_complete_recv(struct sv_qp *qp, struct ibv_wc wc, bool solicited) {
    struct sv_cqe entry = {.wc = wc};
    entry.wc.wr_id = qp->rqes[qp->rq.head++ % qp->rq.depth].wr_id;
    entry.wc.qp_num = qp->qp.qp_num;
    sv_cq_push((struct sv_cq *)qp->qp.recv_cq, &entry, solicited);
}

static void flush(struct sv_qp *qp) {
    struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};
    while (qp->sq.head != qp->sq.tail) sv_qp_complete_send(qp, IBV_WC_WR_FLUSH_ERR);
    while (qp->rq.head != qp->rq.tail) sv_qp_complete_recv(qp, wc, true);
}

void sv_qp_error(struct sv_qp *qp) {
    sv_qp_set_state(qp, IBV_QPS_ERR);
    sv_timer_cancel(&qp->timer);
    qp->wait = SV_WAIT_NONE;
    sv_qp_wait_idle(qp); /* what the engine has in hand still completes as it ends */
    flush(qp);
}

/* READs posted and, as far as the owner of the queue pair knows, not done. */
static uint32_t reads_under_way(const struct sv_qp *qp) {
    uint32_t reads = 0;
    for (uint32_t i = qp->sq.freed; i != qp->sq.tail; i++)
        reads += qp->wqes[i % qp->sq.depth].opcode == IBV_WR_RDMA_READ;
    return reads;
}

static int check_send_wr(const struct sv_qp *qp, const struct ibv_send_wr *wr) {
    bool is_inline = wr->send_flags & IBV_SEND_INLINE;
    uint64_t length = 0;
    switch (wr->opcode) {
        case IBV_WR_RDMA_READ:
            if (sv_device(qp->qp.context)->strict_reads && reads_under_way(qp) >= qp->max_rd_atomic)
                return EINVAL;
            if (is_inline) return EINVAL;
            break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            if (is_inline) return EINVAL;
            break;
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
            break;
        default:
            return EOPNOTSUPP;
    }
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge) return EINVAL;
    for (int i = 0; i < wr->num_sge; i++) length += wr->sg_list[i].length;
    if (is_inline && length > qp->cap.max_inline_data) return EINVAL;
    return qp->sq.tail - qp->sq.freed >= qp->sq.depth ? ENOMEM : 0;
}

static void copy_inline(struct sv_wqe *wqe) {
    uint64_t at = 0;
    for (int i = 0; i < wqe->num_sge; i++) {
        memcpy(wqe->inline_data + at, (void *)(uintptr_t)wqe->sge[i].addr, wqe->sge[i].length);
        at += wqe->sge[i].length;
    }
}

static void queue_send_wr(struct sv_qp *qp, const struct ibv_send_wr *wr) {
    struct sv_wqe *wqe = &qp->wqes[qp->sq.tail++ % qp->sq.depth];
    bool atomic =
        wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    *wqe = (struct sv_wqe){
        .wr_id = wr->wr_id,
        .opcode = wr->opcode,
        .send_flags = wr->send_flags,
        .imm_data = wr->imm_data,
        .remote_addr = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr,
        .rkey = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey,
        .num_sge = wr->num_sge,
        .sge = wqe->sge,
        .inline_data = wqe->inline_data,
    };
    for (int i = 0; i < wr->num_sge; i++) {
        wqe->sge[i] = wr->sg_list[i];
        wqe->length += wr->sg_list[i].length;
    }
    if (wr->send_flags & IBV_SEND_INLINE) copy_inline(wqe);
}

int sv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr) {
    struct sv_qp *mine = (struct sv_qp *)qp;
    int rc = sv_fault_call(SV_OP_POST_SEND);
    pthread_mutex_lock(&sv_lock);
    if (!rc && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR) rc = EINVAL;
    while (wr && !rc && !(rc = check_send_wr(mine, wr))) {
        queue_send_wr(mine, wr);
        wr = wr->next;
    }
    if (qp->state == IBV_QPS_RTS)
        sv_task_queue(&mine->task);
    else if (qp->state == IBV_QPS_ERR && !mine->busy)
        flush(mine);
    pthread_mutex_unlock(&sv_lock);
    if (rc) *bad_wr = wr;
    return rc;
}

static int check_recv_wr(const struct sv_qp *qp, const struct ibv_recv_wr *wr) {
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge) return EINVAL;
    return qp->rq.tail - qp->rq.head >= qp->rq.depth ? ENOMEM : 0;
}

static void queue_recv_wr(struct sv_qp *qp, const struct ibv_recv_wr *wr) {
    struct sv_rqe *rqe = &qp->rqes[qp->rq.tail++ % qp->rq.depth];
    rqe->wr_id = wr->wr_id;
    rqe->num_sge = wr->num_sge;
    for (int i = 0; i < wr->num_sge; i++) rqe->sge[i] = wr->sg_list[i];
}

int sv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr) {
    struct sv_qp *mine = (struct sv_qp *)qp;
    int rc = sv_fault_call(SV_OP_POST_RECV);
    pthread_mutex_lock(&sv_lock);
    if (!rc && qp->state == IBV_QPS_RESET) rc = EINVAL;
    while (wr && !rc && !(rc = check_recv_wr(mine, wr))) {
        queue_recv_wr(mine, wr);
        wr = wr->next;
    }
    if (qp->state == IBV_QPS_ERR && !mine->busy) flush(mine);
    pthread_mutex_unlock(&sv_lock);
    if (rc) *bad_wr = wr;
    return rc;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
                 struct ibv_qp_init_attr *init) {
    struct sv_qp *mine = (struct sv_qp *)qp;
    (void)attr_mask; /* all of it is at hand */
    pthread_mutex_lock(&sv_lock);
    *attr = (struct ibv_qp_attr){
        .qp_state = qp->state,
        .cur_qp_state = qp->state,
        .path_mtu = IBV_MTU_4096,
        .dest_qp_num = mine->link ? mine->link->peer_qp_num : 0,
        .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
        .cap = mine->cap,
        .max_rd_atomic = mine->max_rd_atomic,
        .max_dest_rd_atomic = mine->max_dest_rd_atomic,
        .port_num = 1,
        .timeout = 19,
        .retry_cnt = mine->retry_cnt,
        .rnr_retry = mine->rnr_retry,
    };
    *init = (struct ibv_qp_init_attr){.qp_context = qp->qp_context,
                                      .send_cq = qp->send_cq,
                                      .recv_cq = qp->recv_cq,
                                      .cap = mine->cap,
                                      .qp_type = qp->qp_type,
                                      .sq_sig_all = mine->sq_sig_all};
    pthread_mutex_unlock(&sv_lock);
    return 0;
}

/* Connecting is left to rdma_cm; by hand a queue pair can be emptied, or put into error. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask) {
    struct sv_qp *mine = (struct sv_qp *)qp;
    int rc = 0;
    if (!(attr_mask & IBV_QP_STATE)) return EOPNOTSUPP;
    pthread_mutex_lock(&sv_lock);
    switch (attr->qp_state) {
        case IBV_QPS_ERR:
            sv_qp_error(mine);
            break;
        case IBV_QPS_RESET:
            sv_qp_set_state(mine, IBV_QPS_RESET);
            sv_timer_cancel(&mine->timer);
            sv_qp_wait_idle(mine);
            mine->wait = SV_WAIT_NONE;
            mine->sq.freed = mine->sq.head = mine->sq.tail = 0;
            mine->rq.head = mine->rq.tail = 0;
            sv_cq_forget_qp((struct sv_cq *)qp->send_cq, mine);
            break;
        case IBV_QPS_INIT:
            if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT)
                sv_qp_set_state(mine, IBV_QPS_INIT);
            else
                rc = EINVAL;
            break;
        default:
            rc = EOPNOTSUPP;
    }
    pthread_mutex_unlock(&sv_lock);
    return rc;
}

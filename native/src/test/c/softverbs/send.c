/*
 * SEND and RECV. The sender's message names its memory, the receiver pulls the bytes into the next
 * posted receive and acks. One send of a queue pair is on its way at a time.
 */
#include "softverbs.h"

enum { RNR_TIMER_MS = 10, RNR_FOR_EVER = 7 };

void sv_send_start(struct sv_qp *qp) {
    const struct sv_wqe *wqe = sv_qp_head(qp);
    struct sv_msg msg = {.type = SV_SEND};
    msg.send.opcode = wqe->opcode;
    msg.send.solicited = !!(wqe->send_flags & IBV_SEND_SOLICITED);
    msg.send.imm_data = wqe->imm_data;
    msg.send.length = wqe->length;
    if (wqe->length) msg.send.num_iov = (uint32_t)sv_wqe_gather(wqe, 0, wqe->length, msg.send.iov);
    qp->wait = SV_WAIT_ACK;
    sv_link_send(qp->link, &msg);
}

static enum ibv_wc_status scatter(const struct sv_qp *qp, const struct sv_rqe *rqe, uint64_t length,
                                  struct iovec *out, size_t *count) {
    *count = 0;
    for (int i = 0; i < rqe->num_sge && length; i++) {
        const struct ibv_sge *sge = &rqe->sge[i];
        uint64_t tag, part = sge->length < length ? sge->length : length;
        const struct sv_mr_slot *mr = sv_table_find_mr(sv_table_own(), sge->lkey, &tag);
        if (!sv_mr_allows(mr, qp->qp.pd->handle, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE))
            return IBV_WC_LOC_PROT_ERR;
        uint64_t va = mr->va + (sge->addr - mr->iova);
        out[(*count)++] = (struct iovec){.iov_base = (void *)va, .iov_len = part};
        length -= part;
    }
    return length ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static enum ibv_wc_status pull(const struct sv_qp *qp, const struct sv_send_msg *send) {
    struct iovec sink[SV_MAX_SGE];
    size_t count;
    const struct sv_rqe *rqe = &qp->rqes[qp->rq.head % qp->rq.depth];
    enum ibv_wc_status status = scatter(qp, rqe, send->length, sink, &count);
    if (status != IBV_WC_SUCCESS || send->length == 0) return status;
    ssize_t n = process_vm_readv(qp->link->peer_pid, sink, count, send->iov, send->num_iov, 0);
    return n == (ssize_t)send->length ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static void receive(struct sv_qp *qp, const struct sv_send_msg *send) {
    struct sv_msg ack = {.type = SV_ACK, .ack = SV_ACK_OK};
    bool with_imm = send->opcode == IBV_WR_SEND_WITH_IMM;
    if (qp->qp.state != IBV_QPS_RTR && qp->qp.state != IBV_QPS_RTS) return; /* it times out */
    if (qp->rq.head == qp->rq.tail) {
        ack.ack = SV_ACK_RNR;
        sv_link_send(qp->link, &ack);
        return;
    }
    struct ibv_wc wc = {.status = pull(qp, send),
                        .opcode = IBV_WC_RECV,
                        .byte_len = (uint32_t)send->length,
                        .imm_data = send->imm_data,
                        .src_qp = qp->link->peer_qp_num,
                        .wc_flags = with_imm ? IBV_WC_WITH_IMM : 0};
    sv_qp_complete_recv(qp, wc, send->solicited || wc.status != IBV_WC_SUCCESS);
    if (wc.status == IBV_WC_LOC_LEN_ERR) ack.ack = SV_ACK_LENGTH;
    if (wc.status == IBV_WC_LOC_PROT_ERR) ack.ack = SV_ACK_ERROR;
    sv_link_send(qp->link, &ack);
    if (wc.status != IBV_WC_SUCCESS) sv_qp_error(qp);
}

static void receiver_not_ready(struct sv_qp *qp) {
    if (qp->rnr_retry != RNR_FOR_EVER && qp->rnr_left-- == 0) {
        sv_engine_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
        return;
    }
    qp->wait = SV_WAIT_RNR;
    sv_timer_set(&qp->timer, RNR_TIMER_MS);
}

static void acked(struct sv_qp *qp, enum sv_ack ack) {
    if (qp->wait != SV_WAIT_ACK) return; /* flushed since */
    qp->wait = SV_WAIT_NONE;
    switch (ack) {
        case SV_ACK_OK:
            qp->rnr_left = qp->rnr_retry;
            sv_qp_complete_send(qp, IBV_WC_SUCCESS);
            sv_task_queue(&qp->task);
            break;
        case SV_ACK_RNR:
            receiver_not_ready(qp);
            break;
        case SV_ACK_LENGTH:
            sv_engine_fail(qp, IBV_WC_REM_INV_REQ_ERR);
            break;
        case SV_ACK_ERROR:
            sv_engine_fail(qp, IBV_WC_REM_OP_ERR);
            break;
    }
}

/* A send that waits for its ack now waits for a dead peer; iWARP knows at once that it is lost. */
void sv_send_link_lost(struct sv_qp *qp) {
    if (sv_is_iwarp(qp->qp.context)) {
        sv_qp_error(qp);
        return;
    }
    if (qp->wait == SV_WAIT_ACK) qp->wait = SV_WAIT_NONE;
    if (qp->wait == SV_WAIT_NONE) sv_task_queue(&qp->task);
}

void sv_send_message(struct sv_link *link, const struct sv_msg *msg) {
    struct sv_qp *qp = link->qp;
    if (!qp) return;
    switch (msg->type) {
        case SV_SEND:
            receive(qp, &msg->send);
            break;
        case SV_ACK:
            acked(qp, msg->ack);
            break;
        case SV_QP_ERR:
            if (qp->qp.state == IBV_QPS_ERR || qp->qp.state == IBV_QPS_RESET) return;
            sv_async_event(qp->qp.context,
                           (struct ibv_async_event){.element.qp = &qp->qp,
                                                    .event_type = IBV_EVENT_QP_ACCESS_ERR},
                           &qp->events);
            sv_qp_error(qp);
            break;
        default:
            break;
    }
}

#include <errno.h>
#include <stdlib.h>

#include "rs_internal.h"

/* At most 6: 7 means for ever to soft-RoCE (rxe_comp.c). */
enum { RETRY_COUNT = 6, RNR_RETRY_COUNT = 6 };

static _Atomic uint64_t last_number;

int rs_conn_adopt(struct rs_endpoint *ep, struct rdma_cm_id *id, struct rs_conn **out) {
    struct rs_conn *conn = calloc(1, sizeof(*conn));
    if (!conn) return rs_fail("calloc", ENOMEM);
    conn->ep = ep;
    conn->id = id;
    conn->number = ++last_number;
    id->context = conn;
    LIST_INSERT_HEAD(&ep->conns, conn, link);
    *out = conn;
    return 0;
}

/* From an address of the endpoint's device, as the queue pair must be on it. */
int rs_conn_resolve(struct rs_endpoint *ep, const struct sockaddr *from,
                    const struct sockaddr *peer, int timeout_ms, struct rs_conn **out) {
    struct rdma_cm_id *id;
    if (rs_dl.rdma_create_id(ep->cm, &id, NULL, RDMA_PS_TCP))
        return rs_fail("rdma_create_id", errno);
    struct rs_conn *conn;
    int rc = rs_conn_adopt(ep, id, &conn);
    if (rc) {
        rs_dl.rdma_destroy_id(id);
        return rc;
    }
    if (rs_dl.rdma_resolve_addr(id, (struct sockaddr *)from, (struct sockaddr *)peer, timeout_ms)) {
        rc = rs_fail("rdma_resolve_addr", errno);
        rs_conn_close(conn);
        return rc;
    }
    *out = conn;
    return 0;
}

int rs_conn_resolve_route(struct rs_conn *conn, int timeout_ms) {
    if (rs_dl.rdma_resolve_route(conn->id, timeout_ms)) return rs_fail("rdma_resolve_route", errno);
    return 0;
}

/* Work requests differ only in what rs_conn_post fills in. */
static int allocate_wrs(struct rs_conn *conn, int depth) {
    conn->wrs = calloc((size_t)depth, sizeof(*conn->wrs));
    conn->sges = calloc((size_t)depth, sizeof(*conn->sges));
    if (!conn->wrs || !conn->sges) return rs_fail("calloc", ENOMEM);
    for (int i = 0; i < depth; i++) {
        conn->wrs[i].opcode = IBV_WR_RDMA_READ;
        conn->wrs[i].sg_list = &conn->sges[i];
        conn->wrs[i].num_sge = 1; /* iWARP reads into one element only */
    }
    conn->queue_depth = depth;
    return 0;
}

int rs_conn_post_receives(struct rs_conn *conn, int first, int count) {
    const struct rs_receives *slots = &conn->receives;
    if (!conn->id->qp) return rs_fail("ibv_post_recv", ENOTCONN);
    if (first < 0 || count < 1 || first >= slots->slots || count > slots->slots)
        return rs_fail("ibv_post_recv", EINVAL);
    for (int i = 0; i < count; i++) {
        unsigned slot = (unsigned)(first + i) % (unsigned)slots->slots;
        struct ibv_sge sge = {.addr = slots->address + (uint64_t)slot * (unsigned)slots->slot_bytes,
                              .length = (uint32_t)slots->slot_bytes,
                              .lkey = slots->lkey};
        struct ibv_recv_wr wr = {.wr_id = RS_RECEIVE_BIT | slot, .sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;
        int error = ibv_post_recv(conn->id->qp, &wr, &bad);
        if (error) return rs_fail("ibv_post_recv", error < 0 ? -error : error);
    }
    return 0;
}

static int create_qp(struct rs_conn *conn, int depth, const struct rs_receives *receives) {
    struct rs_endpoint *ep = conn->ep;
    if (receives) conn->receives = *receives;
    int slots = conn->receives.slots;
    struct ibv_qp_init_attr attr = {
        .send_cq = ep->cq,
        .recv_cq = ep->cq,
        .cap = {.max_send_wr = (uint32_t)depth,
                .max_recv_wr = slots > 0 ? (uint32_t)slots : 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    if (depth < 1) return rs_fail("send queue depth", EINVAL);
    if (conn->id->qp) return rs_fail("rdma_create_qp", EISCONN);
    if (conn->id->verbs != ep->context) return rs_fail("route over another device", ENODEV);
    int rc = allocate_wrs(conn, depth);
    if (!rc && rs_dl.rdma_create_qp(conn->id, ep->pd, &attr)) rc = rs_fail("rdma_create_qp", errno);
    if (!rc && slots > 0) rc = rs_conn_post_receives(conn, 0, slots);
    if (rc) rs_conn_destroy_qp(conn);
    return rc;
}

static struct rdma_conn_param conn_param(const void *private_data, int private_data_bytes) {
    return (struct rdma_conn_param){
        .private_data = private_data,
        .private_data_len = (uint8_t)private_data_bytes,
        .retry_count = RETRY_COUNT,
        .rnr_retry_count = RNR_RETRY_COUNT,
    };
}

int rs_conn_connect(struct rs_conn *conn, const void *private_data, int private_data_bytes,
                    int send_queue_depth, const struct rs_receives *receives) {
    struct rdma_conn_param param = conn_param(private_data, private_data_bytes);
    param.initiator_depth = RDMA_MAX_INIT_DEPTH; /* clipped to the device by librdmacm */
    param.responder_resources = RDMA_MAX_RESP_RES;
    int rc = create_qp(conn, send_queue_depth, receives);
    if (rc) return rc;
    if (rs_dl.rdma_connect(conn->id, &param)) {
        rc = rs_fail("rdma_connect", errno);
        rs_conn_destroy_qp(conn);
    }
    return rc;
}

static uint8_t smaller(int wanted, int limit) { return (uint8_t)(wanted < limit ? wanted : limit); }

int rs_conn_accept(struct rs_conn *conn, const void *private_data, int private_data_bytes,
                   int send_queue_depth, const struct rs_receives *receives, int initiator_depth,
                   int responder_resources) {
    struct rs_device device;
    int rc = rs_context_query(conn->ep->context, conn->id->port_num, &device);
    if (rc) return rc;
    struct rdma_conn_param param = conn_param(private_data, private_data_bytes);
    param.initiator_depth = smaller(initiator_depth, device.max_read_depth_out);
    param.responder_resources = smaller(responder_resources, device.max_read_depth_in);
    rc = create_qp(conn, send_queue_depth, receives);
    if (rc) return rc;
    if (rs_dl.rdma_accept(conn->id, &param)) {
        rc = rs_fail("rdma_accept", errno);
        rs_conn_destroy_qp(conn);
    }
    return rc;
}

int rs_conn_reject(struct rs_conn *conn, const void *private_data, int private_data_bytes) {
    if (rs_dl.rdma_reject(conn->id, private_data, (uint8_t)private_data_bytes))
        return rs_fail("rdma_reject", errno);
    return 0;
}

uint64_t rs_conn_id(const struct rs_conn *conn) { return conn->number; }

uint32_t rs_conn_qp_number(const struct rs_conn *conn) {
    return conn->id->qp ? conn->id->qp->qp_num : 0;
}

static void fill_wr(struct ibv_send_wr *wr, const struct rs_read *read) {
    wr->wr_id = read->wr_id;
    wr->send_flags = read->signaled ? IBV_SEND_SIGNALED : 0;
    wr->wr.rdma.remote_addr = read->remote_address;
    wr->wr.rdma.rkey = read->rkey;
    wr->next = wr + 1;
    *wr->sg_list = (struct ibv_sge){
        .addr = read->local_address,
        .length = read->length_bytes,
        .lkey = read->lkey,
    };
}

int rs_conn_post(struct rs_conn *conn, const struct rs_read *reads, int count) {
    if (!conn->id->qp) return rs_fail("ibv_post_send", ENOTCONN);
    if (count < 1) return rs_fail("ibv_post_send", EINVAL);
    if (count > conn->queue_depth) count = conn->queue_depth;
    for (int i = 0; i < count; i++) fill_wr(&conn->wrs[i], &reads[i]);
    conn->wrs[count - 1].next = NULL;

    struct ibv_send_wr *bad = conn->wrs;
    int error = ibv_post_send(conn->id->qp, conn->wrs, &bad);
    if (!error) return count;
    int taken = (int)(bad - conn->wrs);
    return taken > 0 ? taken : rs_fail("ibv_post_send", error < 0 ? -error : error);
}

int rs_conn_send(struct rs_conn *conn, uint64_t wr_id, uint64_t address, uint32_t lkey,
                 uint32_t length_bytes) {
    struct ibv_sge sge = {.addr = address, .length = length_bytes, .lkey = lkey};
    struct ibv_send_wr wr = {.wr_id = wr_id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    if (!conn->id->qp) return rs_fail("ibv_post_send", ENOTCONN);
    int error = ibv_post_send(conn->id->qp, &wr, &bad);
    return error ? rs_fail("ibv_post_send", error < 0 ? -error : error) : 0;
}

int rs_conn_disconnect(struct rs_conn *conn) {
    if (rs_dl.rdma_disconnect(conn->id)) return rs_fail("rdma_disconnect", errno);
    return 0;
}

void rs_conn_destroy_qp(struct rs_conn *conn) {
    if (conn->id->qp) rs_dl.rdma_destroy_qp(conn->id);
    free(conn->wrs);
    free(conn->sges);
    conn->wrs = NULL;
    conn->sges = NULL;
    conn->queue_depth = 0;
}

void rs_conn_close(struct rs_conn *conn) {
    rs_conn_destroy_qp(conn);
    rs_dl.rdma_destroy_id(conn->id);
    LIST_REMOVE(conn, link);
    free(conn);
}

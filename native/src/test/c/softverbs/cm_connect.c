/* Making and ending connections: what each message means in each state of an id. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm.h"

enum { DREQ_TIMEOUT_MS = 69000, TIMEWAIT_MS = 2000 };

static int fail(int error) {
    errno = error;
    return -1;
}

static struct sv_qp *qp_of(const struct sv_id *id) { return (struct sv_qp *)id->id.qp; }

static void send_plain(struct sv_id *id, enum sv_msg_type type) {
    struct sv_msg msg = {.type = type};
    sv_link_send(id->link, &msg);
}

/* iWARP reports an errno where InfiniBand has a reason. */
static void rejected(struct sv_id *id, int reason, const struct sv_cm_msg *msg) {
    int status = sv_is_iwarp(id->id.verbs) ? -ECONNREFUSED : reason;
    id->state = SV_ID_DISCONNECTED;
    if (qp_of(id)) sv_qp_error(qp_of(id));
    sv_cm_event_with(id, RDMA_CM_EVENT_REJECTED, status, msg, SV_REJECT_PRIVATE);
}

/* From now on the queue pair can send; the peer's memory is reached through the link. */
static void connect_qp(struct sv_id *id, uint32_t peer_qp_num, uint8_t max_rd_atomic,
                       uint8_t max_dest_rd_atomic) {
    struct sv_qp *qp = qp_of(id);
    id->link->peer_qp_num = peer_qp_num;
    id->link->qp = qp;
    qp->link = id->link;
    qp->max_rd_atomic = max_rd_atomic;
    qp->max_dest_rd_atomic = max_dest_rd_atomic;
    qp->retry_cnt = id->retry_count;
    qp->rnr_retry = qp->rnr_left = id->rnr_retry_count;
    sv_qp_set_state(qp, IBV_QPS_RTS);
}

static void on_reply(struct sv_id *id, const struct sv_cm_msg *msg) {
    if (id->state != SV_ID_REQ_SENT) return;
    if (!qp_of(id) || !id->link->peer_table) {
        id->state = SV_ID_DISCONNECTED;
        sv_cm_event(id, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
        return;
    }
    connect_qp(id, msg->qp_num, msg->responder_resources, msg->initiator_depth);
    id->state = SV_ID_ESTABLISHED;
    send_plain(id, SV_RTU);
    sv_cm_event_with(id, RDMA_CM_EVENT_ESTABLISHED, 0, msg, SV_ACCEPT_PRIVATE);
}

static void on_request(struct sv_id *id, const struct sv_cm_msg *msg) {
    struct sv_msg refusal = {.type = SV_REJ, .cm.reason = SV_REJ_INVALID_SERVICE_ID};
    struct sv_id *listener = id->parent;
    if (id->state != SV_ID_REQ_AWAITED) return;
    id->id.route.addr.src_storage = msg->dst;
    id->id.route.addr.dst_storage = msg->src;
    if (!id->link->peer_table || sv_id_attach(id, &id->id.route.addr.src_addr)) {
        sv_link_send(id->link, &refusal);
        sv_id_destroy(id);
        return;
    }
    id->state = SV_ID_REQ_RECEIVED;
    id->link->peer_qp_num = msg->qp_num;
    id->initiator_depth = msg->responder_resources;
    id->responder_resources = msg->initiator_depth;
    id->retry_count = msg->retry_count;
    id->rnr_retry_count = msg->rnr_retry_count;
    sv_cm_connect_request(listener, id, msg);
}

/* Over. InfiniBand tells once more, when the queue pair's number may be used again. */
static void enter_timewait(struct sv_id *id) {
    id->state = SV_ID_DISCONNECTED;
    if (!sv_is_iwarp(id->id.verbs)) sv_timer_set(&id->timer, TIMEWAIT_MS);
}

static void on_disconnect_request(struct sv_id *id) {
    if (id->state == SV_ID_DREQ_SENT) { /* both at once */
        send_plain(id, SV_DREP);
        enter_timewait(id);
    } else if (id->state == SV_ID_ESTABLISHED || id->state == SV_ID_REP_SENT) {
        id->state = SV_ID_DREQ_RECEIVED;
    } else {
        return;
    }
    sv_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void disconnected(struct sv_id *id) {
    enter_timewait(id);
    sv_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void on_message(struct sv_link *link, const struct sv_msg *msg) {
    struct sv_id *id = link->owner;
    switch (msg->type) {
        case SV_REQ:
            on_request(id, &msg->cm);
            break;
        case SV_REP:
            on_reply(id, &msg->cm);
            break;
        case SV_RTU:
            if (id->state != SV_ID_REP_SENT) return;
            id->state = SV_ID_ESTABLISHED;
            sv_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0);
            if (qp_of(id)) sv_task_queue(&qp_of(id)->task); /* it may have been too early before */
            break;
        case SV_REJ:
            if (id->state == SV_ID_REQ_SENT) rejected(id, msg->cm.reason, &msg->cm);
            break;
        case SV_DREQ:
            on_disconnect_request(id);
            break;
        case SV_DREP:
            if (id->state == SV_ID_DREQ_SENT) disconnected(id);
            break;
        default:
            break;
    }
}

/* The peer's end is closed: it destroyed its id, or it died. */
static void on_close(struct sv_link *link) {
    struct sv_id *id = link->owner;
    switch (id->state) {
        case SV_ID_REQ_AWAITED:
            sv_id_destroy(id);
            break;
        case SV_ID_REQ_SENT:
            rejected(id, SV_REJ_CONSUMER_DEFINED, NULL);
            break;
        case SV_ID_REQ_RECEIVED:
        case SV_ID_REP_SENT:
            rejected(id, SV_REJ_TIMEOUT, NULL);
            break;
        case SV_ID_ESTABLISHED:
        case SV_ID_DREQ_SENT:
            disconnected(id);
            break;
        default:
            break;
    }
}

void sv_cm_on_request_socket(struct sv_source *source) {
    struct sv_listener *listener = container_of(source, struct sv_listener, source);
    struct sv_id *parent = listener->id, *child;
    int fd;
    while ((fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        child = sv_id_create(parent->id.channel, parent->id.context, parent->id.ps);
        if (!child) {
            close(fd);
            return;
        }
        child->state = SV_ID_REQ_AWAITED;
        child->parent = parent;
        LIST_INSERT_HEAD(&parent->children, child, sibling);
        child->link = sv_link_open(fd, child, on_message, on_close);
        if (!child->link) sv_id_destroy(child);
    }
}

void sv_cm_timer(struct sv_timer *timer) {
    struct sv_id *id = container_of(timer, struct sv_id, timer);
    if (id->state == SV_ID_RESOLVING)
        sv_cm_event(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    else if (id->state == SV_ID_DREQ_SENT)
        disconnected(id);
    else if (id->state == SV_ID_DISCONNECTED)
        sv_cm_event(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

/* 255 asks for the most there is (as little as `otherwise`); more than the device has is an error.
 */
static bool clip_depth(const struct sv_id *id, uint8_t wanted, uint8_t otherwise, uint8_t *depth) {
    int most = sv_device(id->id.verbs)->attr.max_qp_rd_atom;
    if (wanted != RDMA_MAX_INIT_DEPTH) {
        *depth = wanted;
        return wanted <= most;
    }
    *depth = otherwise < most ? otherwise : (uint8_t)most;
    return true;
}

static bool set_private(const struct sv_id *id, const void *data, size_t length, size_t most,
                        struct sv_cm_msg *msg) {
    if (sv_is_iwarp(id->id.verbs)) most = SV_IWARP_PRIVATE;
    if (length > most || (length && !data)) return false;
    if (length) memcpy(msg->private_data, data, length);
    msg->private_len = (uint32_t)length;
    return true;
}

static int send_request(struct sv_id *id, const struct rdma_conn_param *param) {
    struct sv_msg msg = {.type = SV_REQ};
    msg.cm.initiator_depth = id->initiator_depth;
    msg.cm.responder_resources = id->responder_resources;
    msg.cm.retry_count = id->retry_count = param->retry_count & 7;
    msg.cm.rnr_retry_count = id->rnr_retry_count = param->rnr_retry_count & 7;
    msg.cm.qp_num = id->id.qp->qp_num;
    msg.cm.src = id->id.route.addr.src_storage;
    msg.cm.dst = id->id.route.addr.dst_storage;
    if (!set_private(id, param->private_data, param->private_data_len, SV_CONNECT_PRIVATE, &msg.cm))
        return EINVAL;
    id->state = SV_ID_REQ_SENT;
    int fd = sv_connect_socket(&id->id.route.addr.dst_addr);
    if (fd >= 0) id->link = sv_link_open(fd, id, on_message, on_close);
    if (id->link && sv_link_send(id->link, &msg) == 0) return 0;
    rejected(id, SV_REJ_INVALID_SERVICE_ID, NULL);
    return 0;
}

static int start_connect(struct sv_id *id, const struct rdma_conn_param *param) {
    if (id->state != SV_ID_ROUTE_RESOLVED || !id->id.qp) return EINVAL;
    if (!clip_depth(id, param->initiator_depth, UINT8_MAX, &id->initiator_depth)) return EINVAL;
    if (!clip_depth(id, param->responder_resources, UINT8_MAX, &id->responder_resources))
        return EINVAL;
    struct sv_fault fault = sv_id_fault(id, SV_OP_CONNECT);
    switch (fault.action) {
        case SV_ERRNO:
            return fault.value;
        case SV_DROP:
            id->state = SV_ID_REQ_SENT;
            return 0;
        case SV_ERROR:
            id->state = SV_ID_DISCONNECTED;
            sv_cm_event(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
            return 0;
        case SV_REJECT:
            rejected(id, SV_REJ_CONSUMER_DEFINED, NULL);
            return 0;
        default:
            return send_request(id, param);
    }
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param) {
    struct rdma_conn_param defaults = {.initiator_depth = RDMA_MAX_INIT_DEPTH,
                                       .responder_resources = RDMA_MAX_RESP_RES,
                                       .retry_count = 7,
                                       .rnr_retry_count = 7};
    pthread_mutex_lock(&sv_lock);
    int rc = start_connect(sv_id(id), param ? param : &defaults);
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

static int send_reply(struct sv_id *id, const struct rdma_conn_param *param) {
    struct sv_msg msg = {.type = SV_REP};
    if (id->state == SV_ID_DISCONNECTED) return ECONNABORTED; /* it gave up meanwhile */
    if (id->state != SV_ID_REQ_RECEIVED || !id->id.qp) return EINVAL;
    if (!clip_depth(id, param->initiator_depth, id->initiator_depth, &msg.cm.initiator_depth))
        return EINVAL;
    if (!clip_depth(id, param->responder_resources, id->responder_resources,
                    &msg.cm.responder_resources))
        return EINVAL;
    if (!set_private(id, param->private_data, param->private_data_len, SV_ACCEPT_PRIVATE, &msg.cm))
        return EINVAL;
    msg.cm.qp_num = id->id.qp->qp_num;
    msg.cm.rnr_retry_count = id->rnr_retry_count = param->rnr_retry_count & 7;
    struct sv_fault fault = sv_id_fault(id, SV_OP_ACCEPT);
    if (fault.action == SV_ERRNO) return fault.value;
    connect_qp(id, id->link->peer_qp_num, msg.cm.initiator_depth, msg.cm.responder_resources);
    id->state = SV_ID_REP_SENT;
    if (fault.action == SV_DROP) return 0;
    if (fault.action == SV_ERROR)
        sv_cm_event(id, RDMA_CM_EVENT_CONNECT_ERROR, -ETIMEDOUT);
    else
        sv_link_send(id->link, &msg);
    return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param) {
    struct rdma_conn_param defaults = {.initiator_depth = RDMA_MAX_INIT_DEPTH,
                                       .responder_resources = RDMA_MAX_RESP_RES,
                                       .rnr_retry_count = 7};
    pthread_mutex_lock(&sv_lock);
    int rc = send_reply(sv_id(id), param ? param : &defaults);
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len) {
    struct sv_id *mine = sv_id(id);
    struct sv_msg msg = {.type = SV_REJ, .cm.reason = SV_REJ_CONSUMER_DEFINED};
    int rc = EINVAL;
    pthread_mutex_lock(&sv_lock);
    if (mine->state == SV_ID_REQ_RECEIVED &&
        set_private(mine, private_data, private_data_len, SV_REJECT_PRIVATE, &msg.cm)) {
        rc = sv_link_send(mine->link, &msg);
        mine->state = SV_ID_DISCONNECTED;
    }
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

/* Flushes the queue pair, then asks the peer to leave or answers its asking. */
int rdma_disconnect(struct rdma_cm_id *id) {
    struct sv_id *mine = sv_id(id);
    pthread_mutex_lock(&sv_lock);
    if (!mine->link) {
        pthread_mutex_unlock(&sv_lock);
        return fail(EINVAL);
    }
    if (qp_of(mine)) sv_qp_error(qp_of(mine));
    if (mine->state == SV_ID_ESTABLISHED || mine->state == SV_ID_REP_SENT) {
        send_plain(mine, SV_DREQ);
        mine->state = SV_ID_DREQ_SENT;
        sv_timer_set(&mine->timer, DREQ_TIMEOUT_MS);
    } else if (mine->state == SV_ID_DREQ_RECEIVED) {
        send_plain(mine, SV_DREP);
        enter_timewait(mine);
    }
    pthread_mutex_unlock(&sv_lock);
    return 0;
}

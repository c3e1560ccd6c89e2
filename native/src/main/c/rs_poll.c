#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rs_internal.h"

enum { WC_CHUNK = 32, LOOK_AROUND = 16 };

static int drain_completions(struct rs_endpoint *ep, struct rs_events *out) {
    struct ibv_wc wcs[WC_CHUNK];
    int taken, room;
    do {
        room = out->max_completions - out->completions;
        if (room > WC_CHUNK) room = WC_CHUNK;
        taken = ibv_poll_cq(ep->cq, room, wcs);
        if (taken < 0) return rs_fail("ibv_poll_cq", EIO);
        for (int i = 0; i < taken; i++) {
            rs_completions(out)[out->completions++] = (struct rs_completion){
                .wr_id = wcs[i].wr_id,
                .status = wcs[i].status,
                .vendor_error = wcs[i].vendor_err,
                .qp_number = wcs[i].qp_num,
                .length_bytes = wcs[i].byte_len,
            };
        }
    } while (taken > 0 && taken == room);
    return 0;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int spin(struct rs_endpoint *ep, struct rs_events *out, int64_t end) {
    int rc = 0;
    while (!rc && out->completions == 0 && now_ns() < end) rc = drain_completions(ep, out);
    return rc;
}

/* A completion that came before the request to be notified causes no notification: look again after
 * it. */
static int arm_and_drain(struct rs_endpoint *ep, struct rs_events *out) {
    if (!ep->armed) {
        int error = ibv_req_notify_cq(ep->cq, 0);
        if (error) return rs_fail("ibv_req_notify_cq", error);
        ep->armed = true;
    }
    return drain_completions(ep, out);
}

static int take_notification(struct rs_endpoint *ep, struct rs_events *out) {
    struct ibv_cq *cq;
    void *context;
    if (rs_dl.ibv_get_cq_event(ep->channel, &cq, &context))
        return errno == EAGAIN ? 0 : rs_fail("ibv_get_cq_event", errno);
    rs_dl.ibv_ack_cq_events(cq, 1); /* else destroying the CQ would wait for ever */
    ep->armed = false;
    return drain_completions(ep, out);
}

static void copy_cm_event(const struct rdma_cm_event *event, struct rs_cm_event *out) {
    const struct rdma_conn_param *param = &event->param.conn;
    int bytes = param->private_data ? param->private_data_len : 0;
    if (bytes > RS_PRIVATE_DATA_BYTES) bytes = RS_PRIVATE_DATA_BYTES;
    *out = (struct rs_cm_event){
        .type = event->event,
        .status = event->status,
        .initiator_depth = param->initiator_depth,
        .responder_resources = param->responder_resources,
        .private_data_bytes = bytes,
    };
    if (bytes > 0) memcpy(out->private_data, param->private_data, (size_t)bytes);
}

/* Acknowledged at once, since rdma_destroy_id waits for it. */
static int take_cm_event(struct rs_endpoint *ep, struct rs_events *out) {
    struct rdma_cm_event *event;
    if (rs_dl.rdma_get_cm_event(ep->cm, &event))
        return errno == EAGAIN ? 0 : rs_fail("rdma_get_cm_event", errno);
    struct rs_cm_event *copy = &rs_cm_events(out)[out->cm_events];
    struct rdma_cm_id *id = event->id;
    copy_cm_event(event, copy);
    rs_dl.rdma_ack_cm_event(event);

    struct rs_conn *conn = id->context;
    if (copy->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        if (rs_conn_adopt(ep, id, &conn)) {
            rs_dl.rdma_destroy_id(id); /* rejects the request */
            return 1;
        }
        copy->request = conn;
    }
    copy->id = conn ? conn->number : 0;
    out->cm_events++;
    return 1;
}

static int take_cm_events(struct rs_endpoint *ep, struct rs_events *out) {
    int rc = 1;
    while (rc > 0 && out->cm_events < out->max_cm_events) rc = take_cm_event(ep, out);
    return rc < 0 ? rc : 0;
}

static uint32_t qp_number_of(const struct ibv_async_event *event) {
    switch (event->event_type) {
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return event->element.qp->qp_num;
        default:
            return 0;
    }
}

static int take_async_events(struct rs_endpoint *ep, struct rs_events *out) {
    while (out->async_events < out->max_async_events) {
        struct ibv_async_event event;
        if (rs_dl.ibv_get_async_event(ep->context, &event))
            return errno == EAGAIN ? 0 : rs_fail("ibv_get_async_event", errno);
        rs_async_events(out)[out->async_events++] = (struct rs_async_event){
            .type = event.event_type,
            .qp_number = qp_number_of(&event),
        };
        rs_dl.ibv_ack_async_event(&event);
    }
    return 0;
}

static int take_wake_up(struct rs_endpoint *ep) {
    uint64_t count;
    if (read(ep->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return rs_fail("read", errno);
    return 0;
}

static int wait_and_take(struct rs_endpoint *ep, struct rs_events *out, int timeout_ms) {
    struct pollfd fds[] = {
        {.fd = ep->channel->fd, .events = POLLIN},
        {.fd = ep->cm->fd, .events = POLLIN},
        {.fd = ep->context->async_fd, .events = POLLIN},
        {.fd = ep->wake_fd, .events = POLLIN},
    };
    int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
    if (ready < 0) return errno == EINTR ? 0 : rs_fail("poll", errno);

    int rc = 0;
    if (fds[0].revents) rc = take_notification(ep, out);
    if (!rc && fds[1].revents) rc = take_cm_events(ep, out);
    if (!rc && fds[2].revents) rc = take_async_events(ep, out);
    if (!rc && fds[3].revents) rc = take_wake_up(ep);
    return rc;
}

/* Under a steady stream of completions the other sources are looked at now and then: poll(2) costs
 * as much as a good part of a READ. */
static int look_around(struct rs_endpoint *ep, struct rs_events *out) {
    return ++ep->busy_polls % LOOK_AROUND == 0 ? wait_and_take(ep, out, 0) : 0;
}

/* A READ under way often ends sooner than a sleep and a wake-up take. So it spins first, unless the
 * last wait was a long one: who has nothing to do does not spin, and completions that are far apart
 * are slept for. */
static int wait_for_first(struct rs_endpoint *ep, struct rs_events *out, int timeout_ms,
                          int spin_us) {
    if (timeout_ms > 0 && spin_us / 1000 >= timeout_ms) spin_us = timeout_ms * 1000;
    int64_t end = now_ns() + spin_us * INT64_C(1000);
    int rc = ep->spins ? spin(ep, out, end) : 0;
    if (rc) return rc;
    if (out->completions > 0) return look_around(ep, out);
    rc = arm_and_drain(ep, out);
    if (!rc) rc = wait_and_take(ep, out, out->completions > 0 ? 0 : timeout_ms);
    ep->spins = now_ns() < end;
    return rc;
}

int rs_endpoint_poll(struct rs_endpoint *ep, struct rs_events *out, int timeout_ms, int spin_us) {
    out->completions = out->cm_events = out->async_events = 0;
    int rc = drain_completions(ep, out);
    if (!rc && out->completions > 0)
        rc = look_around(ep, out);
    else if (!rc)
        rc = timeout_ms == 0 ? wait_and_take(ep, out, 0)
                             : wait_for_first(ep, out, timeout_ms, spin_us);
    int count = out->completions + out->cm_events + out->async_events;
    return count > 0 ? count : rc; /* an error comes back at the next poll */
}

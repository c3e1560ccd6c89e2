#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rs_internal.h"

static int set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return rs_fail("fcntl", errno);
    return 0;
}

static int start_listener(struct rs_endpoint *ep, struct rdma_cm_id *id,
                          const struct sockaddr *address, int backlog) {
    static const char no_device[] = "no RDMA device at this address";
    if (rs_dl.rdma_bind_addr(id, (struct sockaddr *)address))
        return rs_fail(errno == ENODEV ? no_device : "rdma_bind_addr", errno);
    if (!id->verbs) return rs_fail(no_device, ENODEV); /* of no device, or of all */
    if (ep->context && ep->context != id->verbs) return rs_fail("address of another device", EXDEV);
    if (rs_dl.rdma_listen(id, backlog)) return rs_fail("rdma_listen", errno);
    return 0;
}

int rs_endpoint_listen(struct rs_endpoint *ep, const struct sockaddr *address, int backlog) {
    struct rdma_cm_id *id;
    if (ep->listener_count == RS_MAX_LISTENERS) return rs_fail("more listeners", ENOSPC);
    if (rs_dl.rdma_create_id(ep->cm, &id, NULL, RDMA_PS_TCP))
        return rs_fail("rdma_create_id", errno);
    int rc = start_listener(ep, id, address, backlog);
    if (rc) {
        rs_dl.rdma_destroy_id(id);
        return rc;
    }
    ep->context = id->verbs;
    ep->listeners[ep->listener_count++] = id;
    return ntohs(rs_dl.rdma_get_src_port(id));
}

static int open_channel(struct rs_endpoint *ep) {
    ep->cm = rs_dl.rdma_create_event_channel();
    if (!ep->cm) return rs_fail("rdma_create_event_channel", errno);
    return set_nonblocking(ep->cm->fd);
}

static int open_queue(struct rs_endpoint *ep, int cq_entries) {
    ep->pd = rs_dl.ibv_alloc_pd(ep->context);
    if (!ep->pd) return rs_fail("ibv_alloc_pd", errno);
    ep->channel = rs_dl.ibv_create_comp_channel(ep->context);
    if (!ep->channel) return rs_fail("ibv_create_comp_channel", errno);
    int rc = set_nonblocking(ep->channel->fd);
    if (rc) return rc;
    ep->cq = rs_dl.ibv_create_cq(ep->context, cq_entries, NULL, ep->channel, 0);
    if (!ep->cq) return rs_fail("ibv_create_cq", errno);
    return set_nonblocking(ep->context->async_fd);
}

int rs_endpoint_open(const struct sockaddr *address, int backlog, int cq_entries,
                     struct rs_endpoint **out) {
    struct rs_endpoint *ep = calloc(1, sizeof(*ep));
    if (!ep) return rs_fail("calloc", ENOMEM);
    pthread_mutex_init(&ep->regions_lock, NULL);

    int rc;
    ep->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (ep->wake_fd < 0) {
        rc = rs_fail("eventfd", errno);
        goto close;
    }
    rc = open_channel(ep);
    if (rc) goto close;
    rc = rs_endpoint_listen(ep, address, backlog);
    if (rc < 0) goto close;
    rc = open_queue(ep, cq_entries);
    if (rc) goto close;
    *out = ep;
    return 0;

close:
    rs_endpoint_close(ep);
    return rc;
}

int rs_endpoint_device(struct rs_endpoint *ep, struct rs_device *out) {
    return rs_context_query(ep->context, ep->listeners[0]->port_num, out);
}

int rs_endpoint_port(struct rs_endpoint *ep) {
    return ntohs(rs_dl.rdma_get_src_port(ep->listeners[0]));
}

int rs_endpoint_wake(struct rs_endpoint *ep) {
    uint64_t one = 1;
    /* EAGAIN: the counter is full, so the poll is as awake as can be. */
    if (write(ep->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        return rs_fail("write", errno);
    return 0;
}

/* Children first; every step allows for an endpoint that was opened only in part. */
void rs_endpoint_close(struct rs_endpoint *ep) {
    if (!ep) return;
    while (!LIST_EMPTY(&ep->conns)) rs_conn_close(LIST_FIRST(&ep->conns));
    while (!LIST_EMPTY(&ep->regions)) rs_region_deregister(LIST_FIRST(&ep->regions));
    if (ep->cq) rs_dl.ibv_destroy_cq(ep->cq);
    if (ep->channel) rs_dl.ibv_destroy_comp_channel(ep->channel);
    if (ep->pd) rs_dl.ibv_dealloc_pd(ep->pd);
    for (int i = 0; i < ep->listener_count; i++) rs_dl.rdma_destroy_id(ep->listeners[i]);
    if (ep->cm) rs_dl.rdma_destroy_event_channel(ep->cm);
    if (ep->wake_fd >= 0) close(ep->wake_fd);
    pthread_mutex_destroy(&ep->regions_lock);
    free(ep);
}

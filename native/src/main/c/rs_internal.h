/* What the files of the plain-C part share among themselves. */
#ifndef RS_INTERNAL_H
#define RS_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>

#include "rs_dl.h"
#include "rs_verbs.h"

struct rs_region {
    LIST_ENTRY(rs_region) link;
    struct rs_endpoint *ep;
    struct ibv_mr *mr;
};

struct rs_conn {
    LIST_ENTRY(rs_conn) link;
    struct rs_endpoint *ep;
    struct rdma_cm_id *id;   /* its context points back here */
    uint64_t number;         /* rs_conn_id */
    int queue_depth;         /* 0 without a queue pair */
    struct ibv_send_wr *wrs; /* queue_depth of each, to build chains in */
    struct ibv_sge *sges;
    struct rs_receives receives;
};

struct rs_endpoint {
    struct rdma_event_channel *cm;
    struct rdma_cm_id *listeners[RS_MAX_LISTENERS]; /* one an address; their contexts are NULL */
    int listener_count;
    struct ibv_context *context; /* the first listener's; owned by librdmacm */
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    bool armed; /* the next completion will make the channel readable */
    bool spins; /* the last wait for completions was short */
    unsigned busy_polls;
    int wake_fd;
    LIST_HEAD(, rs_conn) conns;
    pthread_mutex_t regions_lock;
    LIST_HEAD(, rs_region) regions;
};

/* Remembers the failed step for rs_last_step() and returns -error. */
int rs_fail(const char *step, int error);

/* Describes a device with the given port; 0 looks for one as rs_device_query does. */
int rs_context_query(struct ibv_context *context, int port, struct rs_device *out);

/* Makes a connection of an id and puts it on the endpoint's list; the id stays the caller's on
 * failure. */
int rs_conn_adopt(struct rs_endpoint *ep, struct rdma_cm_id *id, struct rs_conn **out);

#endif

/* What the files of the connection manager share. The lock is held unless a name says otherwise. */
#ifndef SOFTVERBS_CM_H
#define SOFTVERBS_CM_H

#include "softverbs.h"

enum {
    SV_CONNECT_PRIVATE = 56, /* RoCE and InfiniBand: these arrive in full length, zero-padded */
    SV_ACCEPT_PRIVATE = 196,
    SV_REJECT_PRIVATE = 148,
    SV_IWARP_PRIVATE = 252, /* iWARP: the exact length arrives */
    SV_REJ_TIMEOUT = 4,
    SV_REJ_INVALID_SERVICE_ID = 8,
    SV_REJ_CONSUMER_DEFINED = 28,
};

enum sv_id_state {
    SV_ID_IDLE,
    SV_ID_BOUND,
    SV_ID_LISTENING,
    SV_ID_RESOLVING,
    SV_ID_ADDR_RESOLVED,
    SV_ID_ROUTE_RESOLVED,
    SV_ID_REQ_SENT,
    SV_ID_REQ_AWAITED, /* a socket was accepted, its request is on the way */
    SV_ID_REQ_RECEIVED,
    SV_ID_REP_SENT,
    SV_ID_ESTABLISHED,
    SV_ID_DREQ_SENT,
    SV_ID_DREQ_RECEIVED,
    SV_ID_DISCONNECTED,
};

struct sv_listener {
    struct sv_source source;
    struct sv_id *id;
};

struct sv_id {
    struct rdma_cm_id id;
    enum sv_id_state state;
    int bound_fd; /* holds the port until it is listened on; -1 */
    struct sv_listener *listener;
    struct sv_link *link;
    struct ibv_pd *default_pd;
    uint8_t initiator_depth, responder_resources; /* offered by us, or asked by the peer */
    uint8_t retry_count, rnr_retry_count;
    struct sv_timer timer;
    struct sv_event_owner events;
    struct sv_timer hold; /* while armed, events wait in held: a scripted delay */
    struct sv_event_list held;
    struct sv_id *parent; /* the listener, until the user has got the connect request */
    LIST_HEAD(, sv_id) children;
    LIST_ENTRY(sv_id) sibling;
    LIST_ENTRY(sv_id) all;
};

struct sv_channel {
    struct rdma_event_channel channel;
    struct sv_event_queue events;
};

struct sv_cm_event {
    struct sv_event event;
    struct rdma_cm_event cm;
    uint8_t private_data[SV_MAX_PRIVATE];
};

static inline struct sv_id *sv_id(struct rdma_cm_id *id) {
    return container_of(id, struct sv_id, id);
}

static inline struct sv_event_queue *sv_id_events(const struct sv_id *id) {
    return &((struct sv_channel *)id->id.channel)->events;
}

/* cm_event.c */
void sv_cm_event(struct sv_id *id, enum rdma_cm_event_type type, int status);
void sv_cm_event_with(struct sv_id *id, enum rdma_cm_event_type type, int status,
                      const struct sv_cm_msg *msg, uint32_t padded_to);
void sv_cm_connect_request(struct sv_id *listener, struct sv_id *child,
                           const struct sv_cm_msg *msg);
void sv_cm_hold_events(struct sv_id *id, int ms);
void sv_cm_release_events(struct sv_timer *timer);
void sv_cm_forget_events(struct sv_id *id);

/* cm_id.c */
struct sv_fault sv_id_fault(struct sv_id *id, enum sv_op op);
struct sv_id *sv_id_create(struct rdma_event_channel *channel, void *context,
                           enum rdma_port_space ps);
void sv_id_destroy(struct sv_id *id);
int sv_id_attach(struct sv_id *id, const struct sockaddr *addr); /* to its device; errno or 0 */

/* cm_address.c */
socklen_t sv_addr_size(const struct sockaddr *addr);
int sv_connect_socket(const struct sockaddr *addr);

/* cm_connect.c */
void sv_cm_on_request_socket(struct sv_source *source);
void sv_cm_timer(struct sv_timer *timer);

#endif

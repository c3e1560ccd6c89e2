/*
 * softverbs: a stand-in for libibverbs and librdmacm between processes of one machine. For tests
 * only.
 *
 * One lock guards all state of a process, one thread (the loop) moves it on: it executes posted
 * work requests, reads the connections' sockets and fires timers. Peers see each other's memory
 * regions through a shared table and move bytes with process_vm_readv, so an owner's CPU takes no
 * part.
 */
#ifndef SOFTVERBS_H
#define SOFTVERBS_H

/* The public functions are exported, as the real libraries do; everything else stays hidden. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#pragma GCC visibility pop

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/uio.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

enum {
    SV_MAX_SGE = 32,
    SV_MAX_INLINE = 512,
    SV_MAX_PRIVATE = 256,
};

/* ---- loop.c: the lock, the thread, its sockets, timers and tasks ---- */

extern pthread_mutex_t sv_lock;
extern pthread_cond_t sv_changed; /* broadcast when an event is acked or a batch of copies ends */

/* A file descriptor the loop watches. release frees it once the loop can no longer see it. */
struct sv_source {
    int fd;
    void (*ready)(struct sv_source *source);
    void (*release)(struct sv_source *source);
    TAILQ_ENTRY(sv_source) link;
};

struct sv_timer {
    uint64_t due_ms;
    bool armed;
    void (*fire)(struct sv_timer *timer);
    LIST_ENTRY(sv_timer) link;
};

struct sv_task {
    bool queued;
    void (*run)(struct sv_task *task);
    TAILQ_ENTRY(sv_task) link;
};

/* All of these want the lock held. ready, fire and run are called by the loop with the lock held.
 */
int sv_loop_start(void);
int sv_source_add(struct sv_source *source);
void sv_source_mute(struct sv_source *source);
void sv_source_close(struct sv_source *source);
void sv_timer_set(struct sv_timer *timer, uint64_t delay_ms);
void sv_timer_cancel(struct sv_timer *timer);
void sv_task_queue(struct sv_task *task);
void sv_task_cancel(struct sv_task *task);
uint64_t sv_now_ms(void);

/* ---- event_queue.c: what stands behind every pollable fd the user sees ---- */

/* The object events speak of; it may be destroyed only when all delivered ones are acked. */
struct sv_event_owner {
    uint32_t delivered;
    uint32_t acked;
};

struct sv_event {
    struct sv_event_owner *owner;             /* NULL: nobody waits for the ack */
    void (*on_taken)(struct sv_event *event); /* may be NULL; lock held */
    TAILQ_ENTRY(sv_event) link;
};

struct sv_event_queue {
    int fd;
    TAILQ_HEAD(sv_event_list, sv_event) events;
};

int sv_event_queue_open(struct sv_event_queue *queue);
void sv_event_queue_close(struct sv_event_queue *queue);
void sv_event_push(struct sv_event_queue *queue, struct sv_event *event);
struct sv_event *sv_event_take(struct sv_event_queue *queue); /* lock not held; may block */
void sv_event_purge(struct sv_event_queue *queue, const struct sv_event_owner *owner);
void sv_event_move(struct sv_event_queue *from, struct sv_event_queue *to,
                   const struct sv_event_owner *owner);
void sv_event_ack(struct sv_event_owner *owner, uint32_t count);
void sv_event_wait_acked(const struct sv_event_owner *owner);

/* ---- table.c: what peers must know of a process, in memory shared with them ---- */

enum {
    SV_MR_SLOTS = 1 << 17,
    SV_QP_SLOTS = 1 << 16,
    SV_MAX_MR = SV_MR_SLOTS / 2,
    SV_MAX_QP = SV_QP_SLOTS / 2,
};

/* The slot of a key is key % SV_MR_SLOTS. tag = generation << 32 | key; a free slot has key 0. */
struct sv_mr_slot {
    _Atomic uint64_t tag;
    uint64_t iova;
    uint64_t length;
    uint64_t va;
    uint32_t pd;
    uint32_t access;
};

struct sv_qp_slot {
    _Atomic uint32_t qp_num;
    _Atomic uint32_t state;
    _Atomic uint32_t max_dest_rd_atomic;
    uint32_t pd;
};

struct sv_table {
    struct sv_mr_slot mr[SV_MR_SLOTS];
    struct sv_qp_slot qp[SV_QP_SLOTS];
};

struct sv_table *sv_table_own(void); /* NULL with errno when it cannot be made */
int sv_table_fd(void);
const struct sv_table *sv_table_map_peer(int fd);
void sv_table_unmap_peer(const struct sv_table *table);
/* NULL when the table is full, or cannot be made. */
struct sv_mr_slot *sv_table_publish_mr(const struct sv_mr_slot *region, uint32_t *key);
void sv_table_withdraw_mr(struct sv_mr_slot *slot);
struct sv_qp_slot *sv_table_publish_qp(uint32_t pd);
void sv_table_withdraw_qp(struct sv_qp_slot *slot);
const struct sv_mr_slot *sv_table_find_mr(const struct sv_table *table, uint32_t key,
                                          uint64_t *tag);
const struct sv_qp_slot *sv_table_find_qp(const struct sv_table *table, uint32_t qp_num);
void sv_table_forget(void);
uint32_t sv_random(void);

/* ---- fault.c, fault_script.c: scripted failures (README.md has the language) ---- */

enum sv_op {
    SV_OP_NOW,
    SV_OP_ALLOC_PD,
    SV_OP_REG_MR,
    SV_OP_CREATE_CQ,
    SV_OP_CREATE_QP,
    SV_OP_POST_SEND,
    SV_OP_POST_RECV,
    SV_OP_POLL,
    SV_OP_READ,
    SV_OP_WRITE,
    SV_OP_SEND,
    SV_OP_BIND_ADDR,
    SV_OP_LISTEN,
    SV_OP_RESOLVE_ADDR,
    SV_OP_RESOLVE_ROUTE,
    SV_OP_CONNECT,
    SV_OP_ACCEPT,
    SV_OP_CM_EVENT,
    SV_OP_COUNT
};

enum sv_action {
    SV_NONE,
    SV_ERRNO,
    SV_STATUS,
    SV_ERROR,
    SV_REJECT,
    SV_DROP,
    SV_DELAY,
    SV_CORRUPT,
    SV_STALL,
    SV_KILL_QP,
    SV_DISCONNECT,
    SV_EVENT,
    SV_PORT_DOWN,
    SV_PORT_UP,
    SV_DEVICE_FATAL,
};

struct sv_fault {
    enum sv_action action;
    int value; /* errno, work completion status, milliseconds or connection event */
};

enum sv_trigger { SV_ALWAYS, SV_WHEN, SV_EVERY, SV_AFTER, SV_PROB };

struct sv_rule {
    enum sv_op op;
    enum sv_trigger trigger;
    double n;
    uint64_t seed;
    uint64_t hits;
    struct sv_fault fault;
    SLIST_ENTRY(sv_rule) link;
};

SLIST_HEAD(sv_rules, sv_rule);

/* Parses a script and keeps the rules that are for this process; ends the process at a bad rule. */
void sv_rules_parse(struct sv_rules *rules, const char *script);

struct sv_fault sv_fault_hit(enum sv_op op); /* lock held; device-wide actions happen here */
int sv_fault_call(enum sv_op op);            /* lock not held; sleeps a delay; errno or 0 */
void sv_fault_start(void);
void sv_fault_forget(void);

/* ---- resources.c: how many objects live ---- */

enum sv_resource { SV_PD, SV_CQ, SV_QP, SV_CM_ID, SV_MR, SV_RESOURCES };

void sv_resource_count(enum sv_resource resource, int change); /* lock held */

/* ---- device.c, context.c ---- */

struct sv_device {
    struct ibv_device device;
    struct ibv_device_attr attr;
    int max_msg;
    int odp;          /* regions may be registered on demand */
    int strict_reads; /* posting more READs than agreed upon fails; real devices let them wait */
    uint8_t link_layer;
    char addrs[256]; /* the addresses it serves, joined by +; empty: all of them */
    enum ibv_port_state port_state;
    bool fatal;
    int num_qp, num_cq, num_mr; /* of this process */
};

struct sv_context {
    struct verbs_context verbs; /* its last member is the ibv_context */
    struct sv_event_queue async;
    LIST_ENTRY(sv_context) link;
};

struct sv_pd {
    struct ibv_pd pd;
    int users;
};

struct sv_device *sv_devices(int *count);
void sv_devices_forget(void);
struct sv_device *sv_device_for(const struct sockaddr *addr);
struct ibv_context *sv_device_cm_context(struct sv_device *device);
void sv_contexts_forget(void);
void sv_async_event(struct ibv_context *context, struct ibv_async_event event,
                    struct sv_event_owner *owner);
void sv_device_event(struct sv_device *device, enum ibv_event_type type);

static inline struct sv_device *sv_device(const struct ibv_context *context) {
    return (struct sv_device *)context->device;
}

static inline struct sv_context *sv_context(struct ibv_context *context) {
    return container_of(context, struct sv_context, verbs.context);
}

static inline bool sv_is_iwarp(const struct ibv_context *context) {
    return context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* ---- mr.c ---- */

void sv_mrs_forget(void);
bool sv_mr_allows(const struct sv_mr_slot *slot, uint32_t pd, uint64_t addr, uint64_t length,
                  uint32_t access);

/* ---- cq.c ---- */

struct sv_qp;

struct sv_cqe {
    struct ibv_wc wc;
    struct sv_qp *qp;  /* NULL when destroyed since, or for a receive */
    uint32_t sq_freed; /* polling this one frees the send queue up to here */
};

struct sv_cq {
    struct ibv_cq cq;
    struct sv_cqe *ring;
    uint32_t head, count;
    enum { SV_UNARMED, SV_ARMED_SOLICITED, SV_ARMED } armed;
    bool overrun;
    int users;
    struct sv_task overrun_task;
    struct sv_event_owner events;
};

void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *entry, bool solicited);
void sv_cq_forget_qp(struct sv_cq *cq, const struct sv_qp *qp);
int sv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int sv_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* ---- qp.c: states and queues ---- */

struct sv_wqe {
    uint64_t wr_id;
    enum ibv_wr_opcode opcode;
    unsigned int send_flags;
    __be32 imm_data;
    uint64_t remote_addr;
    uint32_t rkey;
    int num_sge;
    struct ibv_sge *sge;
    uint8_t *inline_data;
    uint64_t length;
    uint64_t done; /* bytes moved so far */
    bool fault_drawn;
    struct sv_fault fault;
};

struct sv_rqe {
    uint64_t wr_id;
    int num_sge;
    struct ibv_sge *sge;
};

/* Counters run freely; entry i lives at i % depth. freed <= head <= tail. */
struct sv_queue {
    uint32_t depth;
    uint32_t freed, head, tail;
};

/* Why the head of the send queue does not move. */
enum sv_wait {
    SV_WAIT_NONE,
    SV_WAIT_DELAY,
    SV_WAIT_ACK,
    SV_WAIT_RNR,
    SV_WAIT_RETRY,
    SV_WAIT_STALL
};

struct sv_link;

struct sv_qp {
    struct ibv_qp qp;
    struct ibv_qp_cap cap;
    bool sq_sig_all;
    struct sv_queue sq, rq;
    struct sv_wqe *wqes;
    struct sv_rqe *rqes;
    struct ibv_sge *sges;
    uint8_t *inline_data;
    struct sv_qp_slot *slot;
    struct sv_link *link;
    uint8_t max_rd_atomic, max_dest_rd_atomic, retry_cnt, rnr_retry, rnr_left;
    enum sv_wait wait;
    struct sv_timer timer;
    struct sv_task task;
    bool busy; /* the engine copies for it with the lock released */
    struct sv_event_owner events;
    LIST_ENTRY(sv_qp) all;
};

LIST_HEAD(sv_qps, sv_qp);
extern struct sv_qps sv_qps;

int sv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int sv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void sv_qp_set_state(struct sv_qp *qp, enum ibv_qp_state state);
void sv_qp_error(struct sv_qp *qp); /* to ERR, everything queued is flushed */
void sv_qp_wait_idle(struct sv_qp *qp);
void sv_qp_complete_send(struct sv_qp *qp, enum ibv_wc_status status);
void sv_qp_complete_recv(struct sv_qp *qp, struct ibv_wc wc, bool solicited);

/* ---- engine.c: executes send queues ---- */

void sv_engine_run(struct sv_task *task);
void sv_engine_timer(struct sv_timer *timer);
void sv_engine_fail(struct sv_qp *qp, enum ibv_wc_status status);
void sv_engine_wait_batch(void);
size_t sv_wqe_gather(const struct sv_wqe *wqe, uint64_t skip, size_t bytes, struct iovec *out);

static inline struct sv_wqe *sv_qp_head(struct sv_qp *qp) {
    return &qp->wqes[qp->sq.head % qp->sq.depth];
}

/* ---- link.c: the socket between two connected ids, and the way to the peer's memory ---- */

enum sv_msg_type {
    SV_REQ,
    SV_REP,
    SV_RTU,
    SV_REJ,
    SV_DREQ,
    SV_DREP,
    SV_SEND,
    SV_ACK,
    SV_QP_ERR,
};

struct sv_cm_msg {
    uint32_t qp_num;
    uint8_t initiator_depth, responder_resources, retry_count, rnr_retry_count;
    int32_t reason;
    uint32_t private_len;
    struct sockaddr_storage src, dst;
    uint8_t private_data[SV_MAX_PRIVATE];
};

/* A send names the sender's memory; the receiver pulls it once a receive is there. */
struct sv_send_msg {
    uint32_t opcode;
    uint32_t solicited;
    __be32 imm_data;
    uint32_t num_iov;
    uint64_t length;
    struct iovec iov[SV_MAX_SGE];
};

enum sv_ack { SV_ACK_OK, SV_ACK_RNR, SV_ACK_LENGTH, SV_ACK_ERROR };

struct sv_msg {
    uint32_t type;
    union {
        struct sv_cm_msg cm;
        struct sv_send_msg send;
        uint32_t ack;
    };
};

struct sv_link {
    struct sv_source source;
    bool peer_left;
    pid_t peer_pid;
    uint32_t peer_qp_num;
    const struct sv_table *peer_table;
    struct sv_qp *qp;
    void *owner;
    void (*on_message)(struct sv_link *link, const struct sv_msg *msg);
    void (*on_close)(struct sv_link *link);
};

struct sv_link *sv_link_open(int fd, void *owner,
                             void (*on_message)(struct sv_link *, const struct sv_msg *),
                             void (*on_close)(struct sv_link *));
void sv_link_close(struct sv_link *link);
int sv_link_send(struct sv_link *link, const struct sv_msg *msg);
bool sv_link_peer_alive(const struct sv_link *link);

/* ---- cm_id.c ---- */

void sv_ids_device_removed(const struct sv_device *device);
void sv_ids_forget(void);

/* ---- send.c: SEND and RECV ---- */

void sv_send_start(struct sv_qp *qp);
void sv_send_link_lost(struct sv_qp *qp);
void sv_send_message(struct sv_link *link, const struct sv_msg *msg);

#endif

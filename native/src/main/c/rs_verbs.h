/*
 * rs_verbs: RDMA READs and small messages over reliable connections made by rdma_cm. Plain C, knows
 * no JNI.
 *
 * Functions that can fail return 0 (or a count) or -errno, and then rs_last_step() names the call
 * that failed on this thread. An endpoint is polled, and its connections are used, by one thread at
 * a time (the loop thread); rs_region_* and rs_endpoint_wake may be called from any thread. The
 * caller sees to it that nobody uses an endpoint or what belongs to it while it is being closed or
 * afterwards.
 *
 * The structs below are the interface to the Java half, which reads and writes them at the same
 * offsets. Change RS_ABI_VERSION with any of them.
 */
#ifndef RS_VERBS_H
#define RS_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RS_ABI_VERSION 3

/* Private data that every transport carries both ways (InfiniBand and RoCE: 56 bytes in a request).
 */
#define RS_PRIVATE_DATA_BYTES 56

enum rs_transport { RS_TRANSPORT_IB, RS_TRANSPORT_IWARP, RS_TRANSPORT_OTHER };
enum rs_link_layer { RS_LINK_UNSPECIFIED, RS_LINK_INFINIBAND, RS_LINK_ETHERNET };

/* A device and one port of it. Mirrored by DeviceInfo.java. */
struct rs_device {
    char name[64];
    int64_t max_mr_bytes;
    int64_t max_message_bytes;
    int32_t transport;  /* enum rs_transport */
    int32_t link_layer; /* enum rs_link_layer */
    int32_t port_active;
    int32_t max_qp;
    int32_t max_qp_wr;
    int32_t max_cqe;
    int32_t max_mr;
    int32_t max_sge;
    int32_t max_read_depth_out;
    int32_t max_read_depth_in;
    int32_t active_mtu_bytes;
    int32_t odp; /* whether READs from on-demand-paged regions work */
};

/* One RDMA READ to post. Mirrored by ReadBatch.java. */
struct rs_read {
    uint64_t wr_id;
    uint64_t local_address;
    uint64_t remote_address;
    uint32_t lkey;
    uint32_t rkey;
    uint32_t length_bytes;
    uint32_t signaled;
};

/*
 * Where a connection receives messages: slots of one size, one behind the other, in one region with
 * IBV_ACCESS_LOCAL_WRITE. Messages fill them in turn, first to last and round again.
 */
struct rs_receives {
    uint64_t address;
    uint32_t lkey;
    int32_t slots; /* 0: no messages are received */
    int32_t slot_bytes;
};

/* The wr_id of a receive is its slot with this bit: an error completion says nothing else about
 * what it is of. */
#define RS_RECEIVE_BIT (UINT64_C(1) << 63)

struct rs_completion {
    uint64_t wr_id;
    int32_t status; /* enum ibv_wc_status */
    uint32_t vendor_error;
    uint32_t qp_number;
    uint32_t length_bytes; /* of a message received */
};

struct rs_conn;

struct rs_cm_event {
    uint64_t id; /* rs_conn_id of the connection concerned; 0 for the listener */
    union {
        struct rs_conn *request; /* CONNECT_REQUEST only: the new connection */
        uint64_t request_bits;
    };
    int32_t type; /* enum rdma_cm_event_type */
    int32_t status;
    int32_t initiator_depth;
    int32_t responder_resources;
    uint8_t private_data[RS_PRIVATE_DATA_BYTES];
    int32_t private_data_bytes;
    int32_t reserved;
};

struct rs_async_event {
    int32_t type;       /* enum ibv_event_type */
    uint32_t qp_number; /* 0 when it is about no queue pair */
};

/*
 * What one poll collects: this header, then max_completions struct rs_completion, max_cm_events
 * struct rs_cm_event and max_async_events struct rs_async_event. Mirrored by EventBatch.java.
 */
struct rs_events {
    int32_t max_completions;
    int32_t max_cm_events;
    int32_t max_async_events;
    int32_t completions;
    int32_t cm_events;
    int32_t async_events;
};

_Static_assert(sizeof(struct rs_device) == 64 + 2 * 8 + 12 * 4, "DeviceInfo.BYTES");
_Static_assert(sizeof(struct rs_read) == 3 * 8 + 4 * 4, "ReadBatch.STRIDE");
_Static_assert(sizeof(struct rs_events) == 6 * 4, "EventBatch.HEADER_BYTES");
_Static_assert(sizeof(struct rs_completion) == 8 + 4 * 4, "EventBatch.COMPLETION_STRIDE");
_Static_assert(sizeof(struct rs_cm_event) == 2 * 8 + 6 * 4 + RS_PRIVATE_DATA_BYTES,
               "EventBatch.CM_EVENT_STRIDE");
_Static_assert(sizeof(struct rs_async_event) == 2 * 4, "EventBatch.ASYNC_EVENT_STRIDE");
_Static_assert(offsetof(struct rs_cm_event, private_data) == 32, "EventBatch.CM_PRIVATE_DATA");
_Static_assert(sizeof(struct rs_events) % 8 == 0, "the arrays behind the header stay aligned");

static inline struct rs_completion *rs_completions(struct rs_events *events) {
    return (struct rs_completion *)(events + 1);
}

static inline struct rs_cm_event *rs_cm_events(struct rs_events *events) {
    return (struct rs_cm_event *)(rs_completions(events) + events->max_completions);
}

static inline struct rs_async_event *rs_async_events(struct rs_events *events) {
    return (struct rs_async_event *)(rs_cm_events(events) + events->max_cm_events);
}

/* Name of the call that failed last on this thread, valid until the next failure on it. */
const char *rs_last_step(void);

/* Opens libibverbs.so.1 and librdmacm.so.1 for the life of the process. Call first, from one
 * thread. */
int rs_open_libraries(void);

/* Opens all devices for the life of the process, returns their number. First call from one thread.
 */
int rs_open_devices(void);

/* Describes a device with its first active port, else its first port. */
int rs_device_query(int index, struct rs_device *out);

struct rs_endpoint;

/* Opens the device behind a local address and listens there; port 0 lets the system choose. */
int rs_endpoint_open(const struct sockaddr *address, int backlog, int cq_entries,
                     struct rs_endpoint **out);
int rs_endpoint_device(struct rs_endpoint *ep, struct rs_device *out);
int rs_endpoint_port(struct rs_endpoint *ep);

/* Most addresses that one endpoint listens on. */
#define RS_MAX_LISTENERS 16

/* Listens on one more address of the same device (else EXDEV) and returns the port. */
int rs_endpoint_listen(struct rs_endpoint *ep, const struct sockaddr *address, int backlog);

/*
 * Collects completions, connection-manager events and device events, waiting up to timeout_ms (0:
 * not at all, negative: no limit) for the first. A wait begins by looking for completions without
 * sleep for spin_us, unless the wait before was longer than that. Returns their number; 0 after a
 * time-out, a wake or for no reason. An error is returned only when there is nothing else to
 * return.
 */
int rs_endpoint_poll(struct rs_endpoint *ep, struct rs_events *out, int timeout_ms, int spin_us);
int rs_endpoint_wake(struct rs_endpoint *ep);

/* Closes connections and regions that are left, then the endpoint. NULL is allowed. */
void rs_endpoint_close(struct rs_endpoint *ep);

struct rs_region;

/* Registers memory that the caller keeps mapped until the region is gone. */
int rs_region_register(struct rs_endpoint *ep, uint64_t address, uint64_t length_bytes, int access,
                       struct rs_region **out);
uint32_t rs_region_lkey(const struct rs_region *region);
uint32_t rs_region_rkey(const struct rs_region *region);
void rs_region_deregister(struct rs_region *region);

/* Active side: starts to resolve a peer from a local address with port 0. */
int rs_conn_resolve(struct rs_endpoint *ep, const struct sockaddr *from,
                    const struct sockaddr *peer, int timeout_ms, struct rs_conn **out);
int rs_conn_resolve_route(struct rs_conn *conn, int timeout_ms);

/*
 * Create the queue pair, post all receives (NULL: none) and connect / accept. Private data: at most
 * RS_PRIVATE_DATA_BYTES. The depth counts READs and sent messages together.
 */
int rs_conn_connect(struct rs_conn *conn, const void *private_data, int private_data_bytes,
                    int send_queue_depth, const struct rs_receives *receives);
int rs_conn_accept(struct rs_conn *conn, const void *private_data, int private_data_bytes,
                   int send_queue_depth, const struct rs_receives *receives, int initiator_depth,
                   int responder_resources);
int rs_conn_reject(struct rs_conn *conn, const void *private_data, int private_data_bytes);

/* Never 0, never used twice by a process. */
uint64_t rs_conn_id(const struct rs_conn *conn);
/* 0 without a queue pair. */
uint32_t rs_conn_qp_number(const struct rs_conn *conn);

/* Posts READs as one chain; returns how many were taken, an error only when none was. */
int rs_conn_post(struct rs_conn *conn, const struct rs_read *reads, int count);

/* Sends one message, always signaled. The peer must have a receive posted for it: iWARP does not
 * wait for one. */
int rs_conn_send(struct rs_conn *conn, uint64_t wr_id, uint64_t address, uint32_t lkey,
                 uint32_t length_bytes);

/* Posts the receives of this many slots from first on, round the end, for the next messages. */
int rs_conn_post_receives(struct rs_conn *conn, int first, int count);
int rs_conn_disconnect(struct rs_conn *conn);

/* The fence: when it returns no READ of this connection touches memory any more. */
void rs_conn_destroy_qp(struct rs_conn *conn);
void rs_conn_close(struct rs_conn *conn);

/* Maps a whole regular file shared; also says who owns it. EINVAL for an empty one. */
int rs_map_file(const char *path, bool writable, void **address, uint64_t *length_bytes,
                uint32_t *owner_uid);
/* Anonymous zero-filled pages that child processes do not inherit. */
int rs_allocate(uint64_t length_bytes, void **address);
void rs_unmap(void *address, uint64_t length_bytes);

#endif

/*
 * The plain-C part while softverbs fails at each step in turn: whatever fails, nothing crashes,
 * hangs or is left over. Runs under the sanitizers, and once more under valgrind. Every script runs
 * in a process of its own, as a process reads its script once.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rs_verbs.h"

enum {
    BYTES = 64 << 10,
    READS = 8,
    SLOT_BYTES = 64,
    RESOLVE_MS = 200,
    LIFE_MS = 400, /* for what never comes */
    PATIENCE_MS = 20000,
    MAX_EVENTS = 16
};

static const char *const scripts[] = {
    "", /* here the READs must be completed */
    "alloc_pd errno=ENOMEM",
    "create_cq errno=ENOMEM",
    "bind_addr errno=EADDRINUSE",
    "listen errno=EADDRINUSE",
    "reg_mr when 1 errno=ENOMEM",
    "reg_mr when 2 errno=EFAULT",
    "create_qp when 1 errno=ENOMEM",
    "create_qp when 2 errno=ENOMEM",
    "post_recv when 1 errno=ENOMEM",
    "post_recv when 2 errno=ENOMEM",
    "resolve_addr errno=ENODEV",
    "resolve_addr error",
    "resolve_addr drop",
    "resolve_route errno=ENODEV",
    "resolve_route error",
    "resolve_route drop",
    "connect errno=EINVAL",
    "connect error",
    "connect reject",
    "connect drop",
    "accept errno=EINVAL",
    "accept error",
    "accept drop",
    "cm_event when 1 drop",
    "cm_event when 2 drop",
    "cm_event when 3 drop",
    "cm_event when 4 drop",
    "cm_event when 5 drop",
    "cm_event every 2 delay=50",
    "cm_event when 4 event=ADDR_CHANGE",
    "cm_event when 5 event=DISCONNECTED",
    "post_send when 1 errno=ENOMEM",
    "post_send when 2 errno=EINVAL",
    "poll when 5 errno=EIO",
    "read when 1 status=REM_ACCESS_ERR",
    "read when 3 status=RETRY_EXC_ERR",
    "read when 2 drop",
    "read when 2 stall",
    "read when 2 delay=50",
    "read when 2 kill_qp",
    "read when 2 disconnect",
    "read when 2 event=DEVICE_REMOVAL",
    "read when 2 port_down",
    "read when 2 device_fatal",
    "send when 1 stall",
    "send when 1 status=RNR_RETRY_EXC_ERR",
    "send when 1 disconnect",
};

struct end {
    struct rs_endpoint *endpoint;
    struct rs_events *events;
    struct rs_region *region; /* READ from, or into */
    struct rs_region *slots;
    uint8_t *memory; /* the bytes, then one slot to receive in and one to send from */
    struct rs_receives receives;
    struct rs_conn *conn;
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct sockaddr_in address(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    return address;
}

static bool open_end(struct end *end, int access) {
    struct sockaddr_in any = address(0);
    end->events =
        calloc(1, sizeof(struct rs_events) +
                      MAX_EVENTS * (sizeof(struct rs_completion) + sizeof(struct rs_cm_event) +
                                    sizeof(struct rs_async_event)));
    end->events->max_completions = end->events->max_cm_events = MAX_EVENTS;
    end->events->max_async_events = MAX_EVENTS;
    if (rs_endpoint_open((struct sockaddr *)&any, 4, 64, &end->endpoint)) return false;
    if (rs_allocate(BYTES + 2 * SLOT_BYTES, (void **)&end->memory)) return false;
    uint64_t slots = (uintptr_t)end->memory + BYTES;
    if (rs_region_register(end->endpoint, (uintptr_t)end->memory, BYTES, access, &end->region) ||
        rs_region_register(end->endpoint, slots, 2 * SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE,
                           &end->slots))
        return false;
    end->receives = (struct rs_receives){
        .address = slots, .lkey = rs_region_lkey(end->slots), .slots = 1, .slot_bytes = SLOT_BYTES};
    return true;
}

/* Regions and connections that are left go with the endpoint. */
static void close_end(struct end *end) {
    if (end->endpoint) rs_endpoint_close(end->endpoint);
    if (end->memory) rs_unmap(end->memory, BYTES + 2 * SLOT_BYTES);
    free(end->events);
}

/* One message and a chain of READs of all bytes. */
static void use(struct end *reader, const struct end *owner) {
    struct rs_read reads[READS];
    uint64_t from = reader->receives.address + SLOT_BYTES;
    for (unsigned int i = 0; i < READS; i++) {
        reads[i] = (struct rs_read){
            .wr_id = i,
            .local_address = (uintptr_t)reader->memory + i * (BYTES / READS),
            .remote_address = (uintptr_t)owner->memory + i * (BYTES / READS),
            .lkey = rs_region_lkey(reader->region),
            .rkey = rs_region_rkey(owner->region),
            .length_bytes = BYTES / READS,
            .signaled = i == READS - 1,
        };
    }
    rs_conn_send(reader->conn, 100, from, reader->receives.lkey, SLOT_BYTES);
    rs_conn_post(reader->conn, reads, READS);
}

/* Does what the event asks for. A connection that failed is closed in the middle of everything. */
static void take(struct end *end, const struct rs_cm_event *event, struct end *owner) {
    switch (event->type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST:
            end->conn = event->request;
            rs_conn_accept(end->conn, "yes", 3, READS + 1, &end->receives, event->initiator_depth,
                           event->responder_resources);
            break;
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            if (end->conn) rs_conn_resolve_route(end->conn, RESOLVE_MS);
            break;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            if (end->conn) rs_conn_connect(end->conn, "me", 2, READS + 1, &end->receives);
            break;
        case RDMA_CM_EVENT_ESTABLISHED:
            if (end != owner && end->conn) use(end, owner);
            break;
        default:
            if (end->conn) {
                rs_conn_disconnect(end->conn);
                rs_conn_destroy_qp(end->conn);
                rs_conn_close(end->conn);
            }
            end->conn = NULL;
            break;
    }
}

/* Returns whether the chain of READs was completed. */
static bool pump(struct end *end, struct end *owner) {
    bool done = false;
    if (rs_endpoint_poll(end->endpoint, end->events, 2, 0) < 0) return false;
    for (int i = 0; i < end->events->completions; i++)
        done |= rs_completions(end->events)[i].wr_id == READS - 1;
    for (int i = 0; i < end->events->cm_events; i++)
        take(end, &rs_cm_events(end->events)[i], owner);
    return done;
}

/* A connection's whole life, as far as it gets; returns whether its READs were completed. */
static bool live(const char *script) {
    bool done = false;
    struct end owner = {0}, reader = {0};
    struct sockaddr_in from = address(0);
    if (open_end(&owner, IBV_ACCESS_REMOTE_READ) && open_end(&reader, IBV_ACCESS_LOCAL_WRITE)) {
        struct sockaddr_in to = address(rs_endpoint_port(owner.endpoint));
        rs_conn_resolve(reader.endpoint, (struct sockaddr *)&from, (struct sockaddr *)&to,
                        RESOLVE_MS, &reader.conn);
        for (int64_t end = now_ms() + (*script ? LIFE_MS : PATIENCE_MS); !done && now_ms() < end;) {
            pump(&owner, &owner);
            done = pump(&reader, &owner);
        }
    }
    close_end(&reader); /* with whatever is under way */
    close_end(&owner);
    return done;
}

/* Ends by exit(), where the leak checks are. */
static int run(const char *script) {
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("SOFTVERBS_FAULTS", script, 1);
        bool done = rs_open_libraries() == 0 && rs_open_devices() > 0 && live(script);
        exit(done || *script ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return status;
}

int main(void) {
    int failed = 0;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        int status = run(scripts[i]);
        printf("%s: %s\n", scripts[i], status ? "FAILED" : "ok");
        failed += status != 0;
    }
    return failed != 0;
}

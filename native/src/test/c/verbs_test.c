/*
 * The plain-C part against libibverbs.so.1 and librdmacm.so.1 as the dynamic linker finds them:
 * softverbs by default. RDMA_SHUFFLE_TEST_ADDRESS names the local address of another device. Exit
 * code 77: skipped, there is no device.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rs_verbs.h"

#undef NDEBUG
#include <assert.h>

enum {
    DEPTH = 64,
    BYTES = 300000,
    MAX_COMPLETIONS = 16,
    MAX_CM = 4,
    MAX_ASYNC = 4,
    SLOTS = 3,
    SLOT_BYTES = 100,
    PATIENCE_S = 60
};

struct peer {
    struct rs_endpoint *ep;
    struct rs_conn *accepted;
    bool ignores; /* leaves requests alone */
    const struct rs_receives *receives;
    int seen[32]; /* by enum rdma_cm_event_type */
    uint8_t private_data[RS_PRIVATE_DATA_BYTES];
    int completions;
    int32_t statuses[256];
    uint64_t wr_ids[256];
    uint32_t lengths[256];
    struct rs_events *events;
};

static struct sockaddr_in test_address(int port) {
    const char *text = getenv("RDMA_SHUFFLE_TEST_ADDRESS");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert(inet_pton(AF_INET, text ? text : "127.0.0.1", &address.sin_addr) == 1);
    return address;
}

static struct peer open_peer(void) {
    struct sockaddr_in address = test_address(0);
    struct peer peer = {0};
    assert(!rs_endpoint_open((struct sockaddr *)&address, 4, 4 * DEPTH, &peer.ep));
    peer.events = calloc(
        1, sizeof(struct rs_events) + MAX_COMPLETIONS * sizeof(struct rs_completion) +
               MAX_CM * sizeof(struct rs_cm_event) + MAX_ASYNC * sizeof(struct rs_async_event));
    assert(peer.events);
    peer.events->max_completions = MAX_COMPLETIONS;
    peer.events->max_cm_events = MAX_CM;
    peer.events->max_async_events = MAX_ASYNC;
    return peer;
}

static void close_peer(struct peer *peer) {
    rs_endpoint_close(peer->ep);
    free(peer->events);
}

static void take_cm_event(struct peer *peer, const struct rs_cm_event *event) {
    assert(event->type >= 0 && event->type < 32);
    peer->seen[event->type]++;
    if (event->private_data_bytes)
        memcpy(peer->private_data, event->private_data, sizeof(peer->private_data));
    if (event->type != RDMA_CM_EVENT_CONNECT_REQUEST) {
        assert(!event->request);
        return;
    }
    assert(rs_conn_id(event->request) == event->id);
    if (peer->ignores) return;
    peer->accepted = event->request;
    assert(!rs_conn_accept(event->request, "accepted", 9, DEPTH, peer->receives,
                           event->initiator_depth, event->responder_resources));
}

static void poll_peer(struct peer *peer, int timeout_ms) {
    int count = rs_endpoint_poll(peer->ep, peer->events, timeout_ms, 50);
    assert(count >= 0);
    for (int i = 0; i < peer->events->completions; i++) {
        const struct rs_completion *completion = &rs_completions(peer->events)[i];
        assert(peer->completions < 256);
        peer->statuses[peer->completions] = completion->status;
        peer->lengths[peer->completions] = completion->length_bytes;
        peer->wr_ids[peer->completions++] = completion->wr_id;
    }
    for (int i = 0; i < peer->events->cm_events; i++)
        take_cm_event(peer, &rs_cm_events(peer->events)[i]);
}

/* Polls both until the counter reaches the number. */
static void await(const int *counter, int number, struct peer *one, struct peer *other) {
    time_t deadline = time(NULL) + PATIENCE_S;
    while (*counter < number) {
        assert(time(NULL) < deadline);
        poll_peer(one, 5);
        if (other) poll_peer(other, 5);
    }
}

static struct rs_conn *request(struct peer *reader, struct peer *owner, const void *data,
                               int bytes) {
    struct sockaddr_in from = test_address(0), to = test_address(rs_endpoint_port(owner->ep));
    struct rs_conn *conn;
    assert(!rs_conn_resolve(reader->ep, (struct sockaddr *)&from, (struct sockaddr *)&to, 5000,
                            &conn));
    await(&reader->seen[RDMA_CM_EVENT_ADDR_RESOLVED], 1, reader, NULL);
    assert(!rs_conn_resolve_route(conn, 5000));
    await(&reader->seen[RDMA_CM_EVENT_ROUTE_RESOLVED], 1, reader, NULL);
    assert(!rs_conn_connect(conn, data, bytes, DEPTH, reader->receives));
    return conn;
}

static struct rs_conn *connect_peers(struct peer *reader, struct peer *owner) {
    struct rs_conn *conn = request(reader, owner, "hello", 6);
    await(&reader->seen[RDMA_CM_EVENT_ESTABLISHED], 1, reader, owner);
    await(&owner->seen[RDMA_CM_EVENT_ESTABLISHED], 1, reader, owner);
    assert(!strcmp((char *)owner->private_data, "hello"));
    assert(!strcmp((char *)reader->private_data, "accepted"));
    return conn;
}

/* Registered memory: a source full of a pattern in the owner, an empty sink in the reader. */
struct memory {
    uint8_t *source, *sink;
    struct rs_region *source_region, *sink_region;
};

static struct memory register_memory(struct peer *reader, struct peer *owner) {
    struct memory memory;
    assert(!rs_allocate(BYTES, (void **)&memory.source));
    assert(!rs_allocate(BYTES, (void **)&memory.sink));
    for (int i = 0; i < BYTES; i++) memory.source[i] = (uint8_t)(i * 31 + i / 251);
    assert(!rs_region_register(owner->ep, (uintptr_t)memory.source, BYTES, IBV_ACCESS_REMOTE_READ,
                               &memory.source_region));
    assert(!rs_region_register(reader->ep, (uintptr_t)memory.sink, BYTES,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
                               &memory.sink_region));
    return memory;
}

static void free_memory(struct memory *memory) {
    rs_unmap(memory->source, BYTES);
    rs_unmap(memory->sink, BYTES);
}

/* A READ of part i of n to the same place. */
static struct rs_read read_part(const struct memory *memory, int i, int n, bool signaled) {
    int from = (int)((int64_t)BYTES * i / n), to = (int)((int64_t)BYTES * (i + 1) / n);
    return (struct rs_read){
        .wr_id = (uint64_t)i,
        .local_address = (uintptr_t)memory->sink + (unsigned)from,
        .remote_address = (uintptr_t)memory->source + (unsigned)from,
        .lkey = rs_region_lkey(memory->sink_region),
        .rkey = rs_region_rkey(memory->source_region),
        .length_bytes = (uint32_t)(to - from),
        .signaled = signaled,
    };
}

static void a_chain_of_reads_brings_every_byte_with_one_completion(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct memory memory = register_memory(&reader, &owner);
    struct rs_conn *conn = connect_peers(&reader, &owner);
    struct rs_read reads[DEPTH];
    for (int i = 0; i < DEPTH; i++) reads[i] = read_part(&memory, i, DEPTH, i == DEPTH - 1);
    assert(rs_conn_post(conn, reads, DEPTH) == DEPTH);
    await(&reader.completions, 1, &reader, &owner);
    poll_peer(&reader, 10);
    assert(reader.completions == 1);
    assert(reader.statuses[0] == IBV_WC_SUCCESS && reader.wr_ids[0] == DEPTH - 1);
    assert(!memcmp(memory.source, memory.sink, BYTES));
    rs_conn_close(conn);
    close_peer(&reader);
    close_peer(&owner);
    free_memory(&memory);
}

static void a_longer_chain_than_the_queue_is_taken_in_part(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct memory memory = register_memory(&reader, &owner);
    struct rs_conn *conn = connect_peers(&reader, &owner);
    struct rs_read reads[2 * DEPTH];
    for (int i = 0; i < 2 * DEPTH; i++) reads[i] = read_part(&memory, i, 2 * DEPTH, true);
    int taken = rs_conn_post(conn, reads, 2 * DEPTH);
    assert(taken == DEPTH);
    await(&reader.completions, DEPTH, &reader, &owner);
    assert(rs_conn_post(conn, reads + taken, DEPTH) == DEPTH);
    await(&reader.completions, 2 * DEPTH, &reader, &owner);
    assert(!memcmp(memory.source, memory.sink, BYTES));
    close_peer(&reader);
    close_peer(&owner);
    free_memory(&memory);
}

static void the_first_failed_completion_is_the_cause_and_the_rest_is_flushed(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct memory memory = register_memory(&reader, &owner);
    struct rs_conn *conn = connect_peers(&reader, &owner);
    struct rs_read reads[3];
    for (int i = 0; i < 3; i++) reads[i] = read_part(&memory, i, 3, true);
    reads[1].rkey ^= 0x5500;
    assert(rs_conn_post(conn, reads, 3) == 3);
    await(&reader.completions, 3, &reader, &owner);
    assert(reader.statuses[0] == IBV_WC_SUCCESS || reader.statuses[0] == IBV_WC_WR_FLUSH_ERR);
    assert(reader.statuses[1] == IBV_WC_REM_ACCESS_ERR ||
           reader.statuses[1] == IBV_WC_WR_FLUSH_ERR);
    assert(reader.wr_ids[1] == 1 && reader.statuses[2] == IBV_WC_WR_FLUSH_ERR);
    close_peer(&reader);
    close_peer(&owner);
    free_memory(&memory);
}

static void destroying_the_queue_pair_is_a_fence_with_reads_under_way(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct memory memory = register_memory(&reader, &owner);
    struct rs_conn *conn = connect_peers(&reader, &owner);
    struct rs_read reads[DEPTH];
    for (int i = 0; i < DEPTH; i++) reads[i] = read_part(&memory, 0, 1, true);
    assert(rs_conn_post(conn, reads, DEPTH) == DEPTH);
    rs_conn_destroy_qp(conn);
    rs_conn_destroy_qp(conn);
    assert(rs_conn_qp_number(conn) == 0);
    assert(rs_conn_post(conn, reads, 1) == -ENOTCONN && !strcmp(rs_last_step(), "ibv_post_send"));
    rs_region_deregister(memory.sink_region);
    rs_unmap(memory.sink, BYTES); /* a late write would now be a segmentation fault */
    poll_peer(&reader, 50);
    close_peer(&reader);
    close_peer(&owner);
    rs_unmap(memory.source, BYTES);
}

/* Registers slots of the peer to receive into; the slot after them holds a message to send. */
static struct rs_receives register_slots(struct peer *peer, uint8_t **slots) {
    struct rs_region *region;
    assert(!rs_allocate((SLOTS + 1) * SLOT_BYTES, (void **)slots));
    assert(!rs_region_register(peer->ep, (uintptr_t)*slots, (SLOTS + 1) * SLOT_BYTES,
                               IBV_ACCESS_LOCAL_WRITE, &region));
    return (struct rs_receives){.address = (uintptr_t)*slots,
                                .lkey = rs_region_lkey(region),
                                .slots = SLOTS,
                                .slot_bytes = SLOT_BYTES};
}

static void send_message(struct rs_conn *conn, const struct rs_receives *from, uint8_t *slots,
                         int number) {
    slots[SLOTS * SLOT_BYTES] = (uint8_t)number;
    assert(!rs_conn_send(conn, (uint64_t)number, from->address + SLOTS * SLOT_BYTES, from->lkey,
                         (uint32_t)(1 + number)));
}

static void messages_fill_the_slots_in_turn_both_ways(void) {
    struct peer reader = open_peer(), owner = open_peer();
    uint8_t *reader_slots, *owner_slots;
    struct rs_receives of_reader = register_slots(&reader, &reader_slots);
    struct rs_receives of_owner = register_slots(&owner, &owner_slots);
    reader.receives = &of_reader;
    owner.receives = &of_owner;
    struct rs_conn *conn = connect_peers(&reader, &owner);
    for (int i = 0; i < 2 * SLOTS; i++) {
        send_message(conn, &of_reader, reader_slots, i);
        await(&owner.completions, i + 1, &owner, &reader);
        await(&reader.completions, i + 1, &owner, &reader);
        assert(owner.statuses[i] == IBV_WC_SUCCESS && owner.lengths[i] == (uint32_t)(1 + i));
        assert(owner.wr_ids[i] == (RS_RECEIVE_BIT | (uint64_t)(i % SLOTS)));
        assert(owner_slots[i % SLOTS * SLOT_BYTES] == i);
        assert(reader.statuses[i] == IBV_WC_SUCCESS && reader.wr_ids[i] == (uint64_t)i);
        assert(!rs_conn_post_receives(owner.accepted, i % SLOTS, 1));
    }
    send_message(owner.accepted, &of_owner, owner_slots, 7);
    await(&reader.completions, 2 * SLOTS + 1, &owner, &reader);
    assert(reader_slots[0] == 7 && reader.lengths[2 * SLOTS] == 8);
    assert(rs_conn_post_receives(conn, SLOTS, 1) == -EINVAL);
    assert(rs_conn_post_receives(conn, 0, SLOTS + 1) == -EINVAL);
    assert(!strcmp(rs_last_step(), "ibv_post_recv"));
    close_peer(&reader);
    close_peer(&owner);
    rs_unmap(reader_slots, (SLOTS + 1) * SLOT_BYTES);
    rs_unmap(owner_slots, (SLOTS + 1) * SLOT_BYTES);
}

static void an_endpoint_closes_all_that_is_left_in_it(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct memory memory = register_memory(&reader, &owner);
    connect_peers(&reader, &owner);
    struct sockaddr_in from = test_address(0), to = test_address(rs_endpoint_port(owner.ep));
    struct rs_conn *resolving;
    assert(!rs_conn_resolve(reader.ep, (struct sockaddr *)&from, (struct sockaddr *)&to, 5000,
                            &resolving));
    close_peer(&owner);
    close_peer(&reader);
    free_memory(&memory);
}

static void a_request_that_nobody_answers_is_closed_with_its_endpoint(void) {
    struct peer reader = open_peer(), owner = open_peer();
    owner.ignores = true;
    request(&reader, &owner, "", 0);
    await(&owner.seen[RDMA_CM_EVENT_CONNECT_REQUEST], 1, &owner, &reader);
    close_peer(&owner);
    await(&reader.seen[RDMA_CM_EVENT_REJECTED], 1, &reader, NULL);
    close_peer(&reader);
}

static void both_sides_learn_of_a_disconnect(void) {
    struct peer reader = open_peer(), owner = open_peer();
    struct rs_conn *conn = connect_peers(&reader, &owner);
    assert(!rs_conn_disconnect(conn));
    await(&owner.seen[RDMA_CM_EVENT_DISCONNECTED], 1, &owner, &reader);
    assert(!rs_conn_disconnect(owner.accepted));
    await(&reader.seen[RDMA_CM_EVENT_DISCONNECTED], 1, &reader, &owner);
    close_peer(&reader);
    close_peer(&owner);
}

static void a_wake_up_counts_once(void) {
    struct peer peer = open_peer();
    assert(!rs_endpoint_wake(peer.ep) && !rs_endpoint_wake(peer.ep));
    assert(rs_endpoint_poll(peer.ep, peer.events, -1, 50) == 0);
    assert(rs_endpoint_poll(peer.ep, peer.events, 10, 50) == 0);
    close_peer(&peer);
}

static void what_cannot_be_opened_is_named(void) {
    struct sockaddr_in everywhere = {.sin_family = AF_INET};
    struct sockaddr_in address = test_address(0);
    struct rs_endpoint *ep;
    struct rs_device device;
    assert(rs_endpoint_open((struct sockaddr *)&everywhere, 1, 16, &ep) == -ENODEV);
    assert(!strcmp(rs_last_step(), "no RDMA device at this address"));
    assert(rs_endpoint_open((struct sockaddr *)&address, 1, -1, &ep) < 0);
    assert(!strcmp(rs_last_step(), "ibv_create_cq"));
    assert(!rs_device_query(0, &device) && device.name[0] && device.max_mr_bytes > 0);
    assert(rs_device_query(-1, &device) == -EINVAL);
    assert(rs_device_query(rs_open_devices(), &device) == -EINVAL);
    rs_endpoint_close(NULL);
}

static void memory_that_cannot_be_had_is_named(void) {
    char name[] = "/tmp/verbs_test.XXXXXX";
    void *address;
    uint64_t length;
    uint32_t owner;
    int fd = mkstemp(name);
    assert(fd >= 0);
    assert(rs_map_file(name, false, &address, &length, &owner) == -EINVAL);
    assert(write(fd, "123", 3) == 3 && !close(fd));
    assert(!rs_map_file(name, false, &address, &length, &owner) && length == 3 &&
           owner == getuid() && !memcmp(address, "123", 3));
    rs_unmap(address, length);
    assert(!rs_map_file(name, true, &address, &length, &owner) && length == 3);
    rs_unmap(address, length);
    assert(!unlink(name));
    assert(rs_map_file(name, false, &address, &length, &owner) == -ENOENT &&
           !strcmp(rs_last_step(), "open"));
    assert(rs_map_file("/tmp", false, &address, &length, &owner) == -EINVAL);
    assert(rs_allocate(UINT64_MAX / 2, &address) < 0 && !strcmp(rs_last_step(), "mmap"));

    struct peer peer = open_peer();
    struct rs_region *region;
    assert(rs_region_register(peer.ep, (uint64_t)1 << 46, 4096, 0, &region) < 0);
    assert(!strcmp(rs_last_step(), "ibv_reg_mr"));
    close_peer(&peer);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define TEST(function) \
    { #function, function }
    TEST(what_cannot_be_opened_is_named),
    TEST(memory_that_cannot_be_had_is_named),
    TEST(a_wake_up_counts_once),
    TEST(a_chain_of_reads_brings_every_byte_with_one_completion),
    TEST(a_longer_chain_than_the_queue_is_taken_in_part),
    TEST(the_first_failed_completion_is_the_cause_and_the_rest_is_flushed),
    TEST(destroying_the_queue_pair_is_a_fence_with_reads_under_way),
    TEST(messages_fill_the_slots_in_turn_both_ways),
    TEST(both_sides_learn_of_a_disconnect),
    TEST(a_request_that_nobody_answers_is_closed_with_its_endpoint),
    TEST(an_endpoint_closes_all_that_is_left_in_it),
};

int main(void) {
    if (rs_open_libraries() < 0 || rs_open_devices() <= 0) {
        printf("skipped, no RDMA device: %s\n", rs_last_step());
        return 77;
    }
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        printf("%s\n", tests[i].name);
        fflush(stdout);
        tests[i].run();
    }
    return 0;
}

/* Connections: how they come about, what they carry, how they end. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_peer.h"

/* NULL with errno when the address is taken. */
static struct rdma_cm_id *listen_on(struct rdma_event_channel *channel, uint32_t ip,
                                    uint16_t port) {
    struct rdma_cm_id *id;
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htobe16(port), .sin_addr = {htobe32(ip)}};
    REQUIRE(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    if (!rdma_bind_addr(id, (struct sockaddr *)&addr) && !rdma_listen(id, 1)) return id;
    int error = errno;
    rdma_destroy_id(id);
    errno = error;
    return NULL;
}

static void depths_are_negotiated(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){.depth = 255});
    CHECK(reader.negotiated.initiator_depth == 128 && reader.negotiated.responder_resources == 128);
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){.depth = 5});
    CHECK(reader.negotiated.initiator_depth == 5 && reader.negotiated.responder_resources == 5);
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_SUCCESS);
    reader_close(&reader);
    reader_prepare(&reader, &owner, (struct options){0});
    CHECK(reader_connect(&reader, (struct options){.depth = 129}) == -EINVAL);
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){.no_depth = true});
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_LOC_QP_OP_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

static void private_data_lengths(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    uint8_t data[57], zeros[256] = {0};
    memset(data, 0xab, sizeof(data));
    reader_prepare(&reader, &owner, (struct options){0});
    CHECK(reader_connect(&reader, (struct options){.private_data = data, .private_len = 57}) ==
          -EINVAL);
    /* The owner sends back all it got: 56 bytes whatever was sent, and 196 of them arrive. */
    CHECK(reader_connect(&reader, (struct options){.private_data = data, .private_len = 3}) ==
          RDMA_CM_EVENT_ESTABLISHED);
    CHECK(reader.negotiated.private_data_len == 196);
    CHECK(!memcmp(reader.private_data, data, 3) && !memcmp(reader.private_data + 3, zeros, 193));
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){.private_data = data, .private_len = 56});
    CHECK(!memcmp(reader.private_data, data, 56) && reader.private_data[56] == 0);
    reader_close(&reader);
    owner_stop(&owner);
}

static void rejected_with_private_data(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    CHECK(owner_do(&owner, OWNER_REJECT_NEXT) == 0);
    reader_prepare(&reader, &owner, (struct options){0});
    CHECK(reader_connect(&reader, (struct options){0}) == RDMA_CM_EVENT_REJECTED);
    CHECK(reader.negotiated.qp_num == 28); /* the status */
    CHECK(!memcmp(reader.private_data, "go away", 7) && reader.negotiated.private_data_len == 148);
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){0});
    reader_close(&reader);
    owner_stop(&owner);
}

static void nobody_listens(void) {
    struct owner owner = {.offer.port = 1};
    struct reader reader;
    reader_prepare(&reader, &owner, (struct options){0});
    CHECK(reader_connect(&reader, (struct options){0}) == RDMA_CM_EVENT_REJECTED);
    CHECK(reader.negotiated.qp_num == 8);
    reader_close(&reader);
}

static void nobody_has_the_address(void) {
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id;
    struct sockaddr_in nowhere = {
        .sin_family = AF_INET, .sin_port = htobe16(1), .sin_addr = {htobe32(0xc0000201)}};
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr = {htobe32(INADDR_LOOPBACK)}};
    REQUIRE(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    CHECK(rdma_bind_addr(id, (struct sockaddr *)&nowhere) == -1 && errno == EADDRNOTAVAIL);
    CHECK(rdma_resolve_addr(id, (struct sockaddr *)&local, (struct sockaddr *)&nowhere, 50) == 0);
    CHECK(take_event(channel, SOON_MS) == RDMA_CM_EVENT_ADDR_ERROR);
    CHECK(rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(channel);
}

static void owner_is_killed(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read reads[8];
    struct ibv_wc wc[8];
    reader_open(&reader, &owner, (struct options){0});
    for (int i = 0; i < 8; i++) reads[i] = (struct read){.length = 64, .unsignaled = i % 2};
    owner_stop(&owner);
    long start = now_ms();
    CHECK(reader_post(&reader, &owner, reads, 8) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(now_ms() - start < 1000);               /* a few ms where the machine is idle */
    CHECK(reader_poll(&reader, wc, 8, 100) == 0); /* pending until we disconnect, as with rxe */
    CHECK(rdma_disconnect(reader.id) == 0);
    CHECK(reader_poll(&reader, wc, 8, SOON_MS) == 8);
    for (int i = 0; i < 8; i++)
        CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR && wc[i].wr_id == (uint64_t)i);
    reader_close(&reader);
}

static void retries_run_out(void) {
    setenv("SOFTVERBS_RETRY_MS", "50", 1);
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(owner_do(&owner, OWNER_DESTROY_QP) == 0);
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_RETRY_EXC_ERR);
    CHECK(take_event(reader.channel, 50) == -1);
    reader_close(&reader);
    owner_stop(&owner);
}

static void either_side_disconnects(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(rdma_disconnect(reader.id) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(owner_says(&owner, OWNER_EVENTS, 1));
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){0});
    CHECK(owner_do(&owner, OWNER_DISCONNECT) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(rdma_disconnect(reader.id) == 0);
    CHECK(owner_says(&owner, OWNER_EVENTS, 2));
    reader_close(&reader);
    reader_open(&reader, &owner, (struct options){0});
    reader_close(&reader); /* without a word */
    CHECK(owner_says(&owner, OWNER_EVENTS, 3));
    owner_stop(&owner);
}

static void timewait_ends(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(rdma_disconnect(reader.id) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_TIMEWAIT_EXIT);
    reader_close(&reader);
    owner_stop(&owner);
}

static void destroyed_ids_give_no_events(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct rdma_cm_id *id;
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htobe16((uint16_t)owner.offer.port),
                               .sin_addr = {htobe32(INADDR_LOOPBACK)}};
    reader_open(&reader, &owner, (struct options){0});
    REQUIRE(rdma_create_id(reader.channel, &id, NULL, RDMA_PS_TCP) == 0);
    REQUIRE(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000) == 0);
    CHECK(rdma_destroy_id(id) == 0); /* its event was never taken */
    CHECK(take_event(reader.channel, 20) == -1);
    REQUIRE(fcntl(reader.channel->fd, F_SETFL, O_NONBLOCK) == 0);
    struct rdma_cm_event *event;
    CHECK(rdma_get_cm_event(reader.channel, &event) == -1 && errno == EAGAIN);
    reader_close(&reader);
    owner_stop(&owner);
}

/* Connections that end with READs under way, from several threads; the sinks are freed at once. */
static void *come_and_go(void *argument) {
    const struct owner *owner = argument;
    struct reader reader;
    struct read reads[40];
    struct ibv_wc wc;
    for (int i = 0; i < 20 && !test_failures; i++) {
        reader_open(&reader, owner, (struct options){0});
        for (int j = 0; j < 40; j++)
            reads[j] = (struct read){
                .at = (uint64_t)j * 30000, .offset = 11, .length = 30000, .unsignaled = j % 4};
        CHECK(reader_post(&reader, owner, reads, 40) == 0);
        CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.status == IBV_WC_SUCCESS);
        CHECK(sink_right(&reader, 0, 11, 30000));
        if (i % 3 == 0) CHECK(rdma_disconnect(reader.id) == 0);
        reader_close(&reader);
    }
    return NULL;
}

static void many_connections_come_and_go(void) {
    struct owner owners[2] = {owner_start("127.0.0.1"), owner_start("127.0.0.1")};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, come_and_go, &owners[i % 2]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    owner_stop(&owners[0]);
    owner_stop(&owners[1]);
}

static void device_of_one_address(void) {
    setenv("SOFTVERBS_DEVICES", "soft0:addr=127.0.0.2", 1);
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in without = {
        .sin_family = AF_INET, .sin_port = htobe16(1), .sin_addr = {htobe32(0x7f000001)}};
    struct rdma_cm_id *id;
    REQUIRE(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    CHECK(rdma_bind_addr(id, (struct sockaddr *)&without) == -1 && errno == ENODEV);
    CHECK(rdma_resolve_addr(id, NULL, (struct sockaddr *)&without, 100) == 0);
    CHECK(take_event(channel, SOON_MS) == RDMA_CM_EVENT_ADDR_ERROR);
    CHECK(rdma_destroy_id(id) == 0);
    CHECK((id = listen_on(channel, 0x7f000002, 0)) != NULL && id->verbs);
    CHECK(rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(channel);
}

static void *ack_later(void *event) {
    usleep(50000);
    rdma_ack_cm_event(event);
    return NULL;
}

static void destroying_waits_for_acks(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct rdma_cm_event *event;
    pthread_t thread;
    reader_open(&reader, &owner, (struct options){0});
    owner_stop(&owner);
    CHECK(next_event(reader.channel, SOON_MS, &event) == RDMA_CM_EVENT_DISCONNECTED);
    long start = now_ms();
    REQUIRE(pthread_create(&thread, NULL, ack_later, event) == 0);
    reader_close(&reader);
    CHECK(now_ms() - start >= 40);
    pthread_join(thread, NULL);
}

static void id_moves_to_another_channel(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    struct rdma_event_channel *old = reader.channel, *other = rdma_create_event_channel();
    owner_stop(&owner);
    usleep(50000);
    CHECK(rdma_migrate_id(reader.id, other) == 0);
    CHECK(take_event(old, 10) == -1);
    CHECK(take_event(other, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    reader.channel = other;
    reader_close(&reader);
    rdma_destroy_event_channel(old);
}

static void ipv6(void) {
    struct owner owner = owner_start("::1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){.ip = "::1"});
    CHECK(rdma_get_local_addr(reader.id)->sa_family == AF_INET6);
    CHECK(be16toh(rdma_get_dst_port(reader.id)) == owner.offer.port);
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_SUCCESS);
    reader_close(&reader);
    owner_stop(&owner);
}

static void one_port_on_two_addresses(void) {
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *one = listen_on(channel, 0x7f000001, 0);
    REQUIRE(one);
    uint16_t port = be16toh(rdma_get_src_port(one));
    struct rdma_cm_id *two = listen_on(channel, 0x7f000002, port);
    REQUIRE(port != 0 && two);
    CHECK(listen_on(channel, 0x7f000001, port) == NULL && errno == EADDRINUSE);
    CHECK(rdma_destroy_id(one) == 0 && rdma_destroy_id(two) == 0);
    rdma_destroy_event_channel(channel);
}

static void fork_leaves_the_parent_alone(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct reader other;
        reader_open(&other, &owner, (struct options){0}); /* it can use the library anew */
        CHECK(reader_read(&other, &owner, 0, 64, 0) == IBV_WC_SUCCESS);
        pause();
    }
    usleep(100000);
    CHECK(reader_read(&reader, &owner, 10, 64, 0) == IBV_WC_SUCCESS);
    int disconnects = owner_do(&owner, OWNER_EVENTS);
    reader_close(&reader); /* seen by the owner although the child lives */
    CHECK(owner_says(&owner, OWNER_EVENTS, disconnects + 1));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    owner_stop(&owner);
}

static void iwarp_hides_the_cause(void) {
    setenv("SOFTVERBS_DEVICES", "siw0:transport=iwarp", 1);
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){.private_data = "abc", .private_len = 3});
    CHECK(reader.negotiated.private_data_len == 3); /* the exact length arrives */
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_SUCCESS);
    CHECK(reader_read(&reader, &owner, 0, 64, owner.offer.rkey ^ 1) == IBV_WC_WR_FLUSH_ERR);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(owner_says(&owner, OWNER_EVENTS, 1));
    reader_close(&reader);
    owner_stop(&owner);
}

const struct test cm_tests[] = {
    {"depths_are_negotiated", depths_are_negotiated},
    {"private_data_lengths", private_data_lengths},
    {"rejected_with_private_data", rejected_with_private_data},
    {"nobody_listens", nobody_listens},
    {"nobody_has_the_address", nobody_has_the_address},
    {"owner_is_killed", owner_is_killed},
    {"retries_run_out", retries_run_out},
    {"either_side_disconnects", either_side_disconnects},
    {"timewait_ends", timewait_ends},
    {"many_connections_come_and_go", many_connections_come_and_go},
    {"device_of_one_address", device_of_one_address},
    {"destroyed_ids_give_no_events", destroyed_ids_give_no_events},
    {"destroying_waits_for_acks", destroying_waits_for_acks},
    {"id_moves_to_another_channel", id_moves_to_another_channel},
    {"ipv6", ipv6},
    {"one_port_on_two_addresses", one_port_on_two_addresses},
    {"fork_leaves_the_parent_alone", fork_leaves_the_parent_alone},
    {"iwarp_hides_the_cause", iwarp_hides_the_cause},
    {NULL, NULL},
};

/* Moving bytes: what arrives, in which order, and what stops it. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_peer.h"

static void read_across_processes(void) {
    const uint32_t lengths[] = {1, 7, 4096, 4097, 65536 + 3, REGION};
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint64_t offset = lengths[i] == REGION ? 0 : 12345;
        CHECK(reader_read(&reader, &owner, offset, lengths[i], 0) == IBV_WC_SUCCESS);
        CHECK(sink_right(&reader, 0, offset, lengths[i]));
    }
    CHECK(reader_read(&reader, &owner, 0, 0, 0xdead) == IBV_WC_SUCCESS); /* no bytes, no key */
    reader_close(&reader);
    owner_stop(&owner);
}

static void chain_with_one_signal(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read reads[101];
    struct ibv_wc wc[2];
    reader_open(&reader, &owner, (struct options){0});
    for (int i = 0; i < 101; i++)
        reads[i] = (struct read){.offset = (uint64_t)i * 4099 % 65536,
                                 .at = (uint64_t)i * 8192,
                                 .length = (uint32_t)(i * 37 % 8000) + 1,
                                 .unsignaled = i < 100};
    CHECK(reader_post(&reader, &owner, reads, 101) == 0);
    CHECK(reader_poll(&reader, wc, 1, SOON_MS) == 1);
    CHECK(wc[0].wr_id == 100 && wc[0].status == IBV_WC_SUCCESS);
    CHECK(wc[0].opcode == IBV_WC_RDMA_READ && wc[0].byte_len == reads[100].length);
    for (int i = 0; i < 101; i++)
        CHECK(sink_right(&reader, reads[i].at, reads[i].offset, reads[i].length));
    CHECK(reader_poll(&reader, wc, 1, 20) == 0);
    reader_close(&reader);
    owner_stop(&owner);
}

static void two_sinks_of_one_read(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_wc wc;
    reader_open(&reader, &owner, (struct options){0});
    struct ibv_sge sges[] = {
        {.addr = (uintptr_t)reader.sink + 5, .length = 100, .lkey = reader.mr->lkey},
        {.addr = (uintptr_t)reader.sink + 5000, .length = 900, .lkey = reader.mr->lkey}};
    struct ibv_send_wr *bad, wr = {.opcode = IBV_WR_RDMA_READ,
                                   .sg_list = sges,
                                   .num_sge = 2,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.rdma = {owner.offer.addr + 77, owner.offer.rkey}};
    CHECK(ibv_post_send(reader.id->qp, &wr, &bad) == 0);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.status == IBV_WC_SUCCESS);
    CHECK(sink_right(&reader, 5, 77, 100) && sink_right(&reader, 5000, 177, 900));
    reader_close(&reader);
    owner_stop(&owner);
}

/* Three READs of which the middle one is refused with the key. */
static void refused_with(struct owner *owner, uint32_t rkey, uint64_t offset, uint32_t length) {
    struct reader reader;
    struct ibv_wc wc[3];
    struct read reads[3] = {{.length = 512},
                            {.length = length, .offset = offset, .rkey = rkey},
                            {.length = 512, .unsignaled = true}};
    reader_open(&reader, owner, (struct options){0});
    CHECK(reader_post(&reader, owner, reads, 3) == 0);
    CHECK(reader_poll(&reader, wc, 3, SOON_MS) == 3);
    CHECK(wc[0].wr_id == 0 && wc[0].status == IBV_WC_SUCCESS);
    CHECK(wc[1].wr_id == 1 && wc[1].status == IBV_WC_REM_ACCESS_ERR);
    CHECK(wc[2].wr_id == 2 && wc[2].status == IBV_WC_WR_FLUSH_ERR);
    CHECK(qp_state(reader.id->qp) == IBV_QPS_ERR);
    CHECK(owner_says(owner, OWNER_QP_STATE, IBV_QPS_ERR));
    CHECK(reader_post(&reader, owner, reads, 1) == 0); /* accepted, and flushed */
    CHECK(reader_poll(&reader, wc, 1, SOON_MS) == 1 && wc[0].status == IBV_WC_WR_FLUSH_ERR);
    reader_close(&reader);
}

static void wrong_rkey(void) {
    struct owner owner = owner_start("127.0.0.1");
    refused_with(&owner, owner.offer.rkey ^ 1, 0, 64);
    refused_with(&owner, owner.offer.rkey_other_pd, 0, 64);
    owner_stop(&owner);
}

static void out_of_bounds(void) {
    struct owner owner = owner_start("127.0.0.1");
    refused_with(&owner, 0, REGION - 100, 101);
    refused_with(&owner, 0, (uint64_t)-1, 64);
    refused_with(&owner, 0, REGION, 1);
    owner_stop(&owner);
}

static void no_remote_read(void) {
    struct owner owner = owner_start("127.0.0.1");
    refused_with(&owner, owner.offer.rkey_local, 0, 64);
    refused_with(&owner, owner.offer.rkey_writable, 0, 64);
    owner_stop(&owner);
}

static void deregistered(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_SUCCESS);
    CHECK(owner_do(&owner, OWNER_DEREG) == 0);
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_REM_ACCESS_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

static void sink_must_be_writable(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    struct ibv_mr *good = reader.mr;
    reader.mr = ibv_reg_mr(reader.pd, reader.sink, 4096, IBV_ACCESS_REMOTE_READ);
    CHECK(reader_read(&reader, &owner, 0, 64, 0) == IBV_WC_LOC_PROT_ERR);
    CHECK(reader.sink[0] == 0);
    CHECK(owner_says(&owner, OWNER_QP_STATE, IBV_QPS_RTS)); /* the owner never heard of it */
    CHECK(ibv_dereg_mr(reader.mr) == 0);
    reader.mr = good;
    reader_close(&reader);
    owner_stop(&owner);
}

/* A region reaches from the sink's own start; what is deregistered is never written again. */
static void sink_deregistered(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    struct ibv_mr *good = reader.mr;
    struct read read = {.length = REGION};
    struct ibv_wc wc;
    for (int i = 0; i < 50; i++) {
        reader.mr = ibv_reg_mr(reader.pd, reader.sink, REGION, IBV_ACCESS_LOCAL_WRITE);
        REQUIRE(reader_post(&reader, &owner, &read, 1) == 0);
        CHECK(ibv_dereg_mr(reader.mr) == 0);
        memset(reader.sink, 0xee, REGION);
        CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1);
        for (int at = 0; at < REGION; at += 4096) CHECK(reader.sink[at] == 0xee);
        if (wc.status != IBV_WC_SUCCESS) break;
    }
    reader.mr = good;
    reader_close(&reader);
    owner_stop(&owner);
}

static void read_of_stopped_owner(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    kill(owner.pid, SIGSTOP);
    waitpid(owner.pid, NULL, WUNTRACED);
    CHECK(reader_read(&reader, &owner, 100, 100000, 0) == IBV_WC_SUCCESS);
    CHECK(sink_right(&reader, 0, 100, 100000));
    kill(owner.pid, SIGCONT);
    reader_close(&reader);
    owner_stop(&owner);
}

static struct ibv_send_wr send_wr(struct reader *reader, struct ibv_sge *sge,
                                  enum ibv_wr_opcode opcode) {
    *sge =
        (struct ibv_sge){.addr = (uintptr_t)reader->sink, .length = 32, .lkey = reader->mr->lkey};
    return (struct ibv_send_wr){.wr_id = 5,
                                .sg_list = sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = IBV_SEND_SIGNALED};
}

static enum ibv_wc_status post_one(struct reader *reader, struct ibv_send_wr *wr) {
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    if (ibv_post_send(reader->id->qp, wr, &bad)) return IBV_WC_GENERAL_ERR;
    return reader_poll(reader, &wc, 1, SOON_MS) == 1 ? wc.status : IBV_WC_GENERAL_ERR;
}

static void send_and_receive(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_sge sge;
    reader_open(&reader, &owner, (struct options){.rnr_retry = 7});
    struct ibv_send_wr wr = send_wr(&reader, &sge, IBV_WR_SEND), *bad;
    struct ibv_wc wc;
    memset(reader.sink, 42, 32);
    CHECK(owner_do(&owner, OWNER_POST_RECV) == 0);
    CHECK(post_one(&reader, &wr) == IBV_WC_SUCCESS);
    CHECK(owner_do(&owner, OWNER_FIRST_BYTE) == 42);
    wr.send_flags |= IBV_SEND_INLINE;
    memset(reader.sink, 43, 32);
    CHECK(ibv_post_send(reader.id->qp, &wr, &bad) == 0);
    memset(reader.sink, 44, 32);                  /* inline: taken at the post already */
    CHECK(reader_poll(&reader, &wc, 1, 50) == 0); /* waits for a receive, retried for ever */
    CHECK(owner_do(&owner, OWNER_POST_RECV) == 0);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.status == IBV_WC_SUCCESS);
    CHECK(owner_do(&owner, OWNER_FIRST_BYTE) == 43);
    reader_close(&reader);
    owner_stop(&owner);
}

static void send_without_receive(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_sge sge;
    reader_open(&reader, &owner, (struct options){.rnr_retry = 2});
    struct ibv_send_wr wr = send_wr(&reader, &sge, IBV_WR_SEND);
    CHECK(post_one(&reader, &wr) == IBV_WC_RNR_RETRY_EXC_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

static void write_needs_the_right(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_sge sge;
    for (int allowed = 1; allowed >= 0; allowed--) {
        reader_open(&reader, &owner, (struct options){0});
        struct ibv_send_wr wr = send_wr(&reader, &sge, IBV_WR_RDMA_WRITE);
        memset(reader.sink, 0x77, 32);
        wr.wr.rdma.remote_addr = owner.offer.addr + (allowed ? 0 : 64);
        wr.wr.rdma.rkey = allowed ? owner.offer.rkey_writable : owner.offer.rkey;
        CHECK(post_one(&reader, &wr) == (allowed ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR));
        reader_close(&reader);
        reader_open(&reader, &owner, (struct options){0});
        CHECK(reader_read(&reader, &owner, 0, 128, 0) == IBV_WC_SUCCESS);
        CHECK(reader.sink[31] == 0x77 && sink_right(&reader, 32, 32, 96));
        reader_close(&reader);
    }
    owner_stop(&owner);
}

static void atomics_are_refused(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_sge sge;
    reader_open(&reader, &owner, (struct options){0});
    struct ibv_send_wr wr = send_wr(&reader, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD);
    sge.length = 8;
    wr.wr.atomic.remote_addr = owner.offer.addr;
    wr.wr.atomic.rkey = owner.offer.rkey;
    CHECK(post_one(&reader, &wr) == IBV_WC_REM_ACCESS_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

static int completion_event(struct reader *reader, int timeout_ms) {
    struct pollfd ready = {.fd = reader->completions->fd, .events = POLLIN};
    struct ibv_cq *cq;
    void *context;
    if (poll(&ready, 1, timeout_ms) != 1) return 0;
    REQUIRE(ibv_get_cq_event(reader->completions, &cq, &context) == 0);
    CHECK(cq == reader->cq && context == reader);
    ibv_ack_cq_events(cq, 1);
    return 1;
}

static void one_event_per_arming(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read reads[3] = {{.length = 8}, {.length = 8}, {.length = 8}};
    struct ibv_wc wc[3];
    reader_open(&reader, &owner, (struct options){0});
    CHECK(ibv_req_notify_cq(reader.cq, 0) == 0);
    CHECK(reader_post(&reader, &owner, reads, 3) == 0);
    CHECK(completion_event(&reader, SOON_MS) == 1);
    CHECK(reader_poll(&reader, wc, 3, SOON_MS) == 3);
    CHECK(completion_event(&reader, 20) == 0);
    CHECK(reader_post(&reader, &owner, reads, 3) == 0); /* not armed */
    CHECK(completion_event(&reader, 50) == 0);
    CHECK(ibv_req_notify_cq(reader.cq, 0) == 0); /* the old ones do not count */
    CHECK(completion_event(&reader, 50) == 0);
    CHECK(reader_poll(&reader, wc, 3, SOON_MS) == 3);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    CHECK(completion_event(&reader, SOON_MS) == 1);
    reader_close(&reader);
    owner_stop(&owner);
}

/* Printed for whoever tunes it; asserted is only that all bytes are right. */
static void many_small_reads(void) {
    enum { ROUNDS = 200, CHAIN = 256 };
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    static struct read reads[CHAIN];
    struct ibv_wc wc;
    reader_open(&reader, &owner, (struct options){0});
    for (int i = 0; i < CHAIN; i++)
        reads[i] = (struct read){.offset = (uint64_t)i * 4001,
                                 .at = (uint64_t)i * 512,
                                 .length = 512,
                                 .unsignaled = i < CHAIN - 1};
    long start = now_ms();
    for (int i = 0; i < ROUNDS && !test_failures; i++) {
        CHECK(reader_post(&reader, &owner, reads, CHAIN) == 0);
        while (ibv_poll_cq(reader.cq, 1, &wc) == 0) sched_yield();
        CHECK(wc.status == IBV_WC_SUCCESS);
    }
    printf("# %.2f us per READ of 512 bytes\n",
           (double)(now_ms() - start) * 1000 / (ROUNDS * CHAIN));
    for (int i = 0; i < CHAIN; i++) CHECK(sink_right(&reader, reads[i].at, reads[i].offset, 512));
    reader_close(&reader);
    owner_stop(&owner);
}

const struct test data_tests[] = {
    {"read_across_processes", read_across_processes},
    {"chain_with_one_signal", chain_with_one_signal},
    {"two_sinks_of_one_read", two_sinks_of_one_read},
    {"wrong_rkey", wrong_rkey},
    {"out_of_bounds", out_of_bounds},
    {"no_remote_read", no_remote_read},
    {"deregistered", deregistered},
    {"sink_must_be_writable", sink_must_be_writable},
    {"sink_deregistered", sink_deregistered},
    {"read_of_stopped_owner", read_of_stopped_owner},
    {"send_and_receive", send_and_receive},
    {"send_without_receive", send_without_receive},
    {"write_needs_the_right", write_needs_the_right},
    {"atomics_are_refused", atomics_are_refused},
    {"one_event_per_arming", one_event_per_arming},
    {"many_small_reads", many_small_reads},
    {NULL, NULL},
};

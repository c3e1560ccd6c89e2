#include "test_peer.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECV_SIZE = 4096 };

uint8_t test_byte(uint64_t at) { return (uint8_t)(at * 167 + (at >> 8) * 13 + (at >> 16) * 31); }

long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int next_event(struct rdma_event_channel *channel, int timeout_ms, struct rdma_cm_event **event) {
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    if (poll(&ready, 1, timeout_ms) != 1) return -1;
    REQUIRE(rdma_get_cm_event(channel, event) == 0);
    return (int)(*event)->event;
}

int take_event(struct rdma_event_channel *channel, int timeout_ms) {
    struct rdma_cm_event *event;
    int type = next_event(channel, timeout_ms, &event);
    if (type >= 0) rdma_ack_cm_event(event);
    return type;
}

int async_event(struct ibv_context *context, int timeout_ms) {
    struct pollfd ready = {.fd = context->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    if (poll(&ready, 1, timeout_ms) != 1) return -1;
    REQUIRE(ibv_get_async_event(context, &event) == 0);
    ibv_ack_async_event(&event);
    return (int)event.event_type;
}

enum ibv_qp_state qp_state(struct ibv_qp *qp) {
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    REQUIRE(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
    return attr.qp_state;
}

static struct sockaddr_storage address(const char *ip, uint16_t port) {
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, ip, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
    } else {
        REQUIRE(inet_pton(AF_INET6, ip, &v6->sin6_addr) == 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
    }
    return storage;
}

/* ---- the owner ---- */

struct serving {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener, *id;
    struct ibv_pd *pd, *other_pd;
    struct ibv_cq *cq;
    uint8_t *region, *received;
    struct ibv_mr *readable, *writable, *local, *other, *receive;
    bool reject_next;
    int disconnects;
};

static struct ibv_qp_init_attr qp_init(struct ibv_cq *cq, uint32_t send_wr) {
    return (struct ibv_qp_init_attr){.send_cq = cq,
                                     .recv_cq = cq,
                                     .qp_type = IBV_QPT_RC,
                                     .cap = {.max_send_wr = send_wr,
                                             .max_recv_wr = 16,
                                             .max_send_sge = 2,
                                             .max_recv_sge = 1,
                                             .max_inline_data = 64}};
}

static void serve_setup(struct serving *serving, const char *ip, struct offer *offer) {
    struct sockaddr_storage addr = address(ip, 0);
    serving->channel = rdma_create_event_channel();
    REQUIRE(serving->channel);
    REQUIRE(rdma_create_id(serving->channel, &serving->listener, NULL, RDMA_PS_TCP) == 0);
    REQUIRE(rdma_bind_addr(serving->listener, (struct sockaddr *)&addr) == 0);
    REQUIRE(rdma_listen(serving->listener, 8) == 0);
    serving->pd = ibv_alloc_pd(serving->listener->verbs);
    serving->other_pd = ibv_alloc_pd(serving->listener->verbs);
    serving->cq = ibv_create_cq(serving->listener->verbs, 64, NULL, NULL, 0);
    serving->region = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    serving->received = calloc(1, RECV_SIZE);
    for (uint64_t i = 0; i < REGION; i++) serving->region[i] = test_byte(i);
    int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    serving->readable = ibv_reg_mr(serving->pd, serving->region, REGION, IBV_ACCESS_REMOTE_READ);
    serving->writable = ibv_reg_mr(serving->pd, serving->region, REGION, write);
    serving->local = ibv_reg_mr(serving->pd, serving->region, REGION, 0);
    serving->other = ibv_reg_mr(serving->other_pd, serving->region, REGION, IBV_ACCESS_REMOTE_READ);
    serving->receive =
        ibv_reg_mr(serving->pd, serving->received, RECV_SIZE, IBV_ACCESS_LOCAL_WRITE);
    REQUIRE(serving->readable && serving->writable && serving->local && serving->other);
    *offer = (struct offer){.port = ntohs(rdma_get_src_port(serving->listener)),
                            .addr = (uintptr_t)serving->region,
                            .rkey = serving->readable->rkey,
                            .rkey_writable = serving->writable->rkey,
                            .rkey_local = serving->local->rkey,
                            .rkey_other_pd = serving->other->rkey};
}

/* Accepts with the depths of the request, and gives its private data back. */
static void serve_request(struct serving *serving, struct rdma_cm_event *event) {
    struct ibv_qp_init_attr init = qp_init(serving->cq, 16);
    struct rdma_conn_param param = {.private_data = event->param.conn.private_data,
                                    .private_data_len = event->param.conn.private_data_len,
                                    .responder_resources = event->param.conn.responder_resources,
                                    .initiator_depth = event->param.conn.initiator_depth,
                                    .rnr_retry_count = 7};
    struct rdma_cm_id *id = event->id;
    if (serving->reject_next) {
        serving->reject_next = false;
        REQUIRE(rdma_reject(id, "go away", 7) == 0);
        rdma_destroy_id(id);
        return;
    }
    REQUIRE(rdma_create_qp(id, serving->pd, &init) == 0);
    if (rdma_accept(id, &param)) return; /* the other end may be gone already */
    serving->id = id;
}

static void serve_event(struct serving *serving) {
    struct rdma_cm_event *event;
    REQUIRE(rdma_get_cm_event(serving->channel, &event) == 0);
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) serve_request(serving, event);
    if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
        serving->disconnects++;
        rdma_disconnect(event->id);
    }
    rdma_ack_cm_event(event);
}

static int post_receive(struct serving *serving) {
    struct ibv_sge sge = {
        .addr = (uintptr_t)serving->received, .length = RECV_SIZE, .lkey = serving->receive->lkey};
    struct ibv_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1}, *bad;
    return ibv_post_recv(serving->id->qp, &wr, &bad);
}

/* Of what the next completed receive brought. */
static int first_byte(struct serving *serving) {
    struct ibv_wc wc;
    long end = now_ms() + SOON_MS;
    while (ibv_poll_cq(serving->cq, 1, &wc) == 0) {
        if (now_ms() > end) return -1;
    }
    if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV || wc.wr_id != 7) return -1;
    return serving->received[0];
}

static int serve_command(struct serving *serving, int command) {
    switch (command) {
        case OWNER_DEREG:
            return ibv_dereg_mr(serving->readable);
        case OWNER_QP_STATE:
            return (int)qp_state(serving->id->qp);
        case OWNER_DESTROY_QP:
            rdma_destroy_qp(serving->id);
            return 0;
        case OWNER_DISCONNECT:
            return rdma_disconnect(serving->id);
        case OWNER_POST_RECV:
            return post_receive(serving);
        case OWNER_FIRST_BYTE:
            return first_byte(serving);
        case OWNER_EVENTS:
            return serving->disconnects;
        case OWNER_REJECT_NEXT:
            serving->reject_next = true;
            return 0;
        default:
            return -1;
    }
}

static _Noreturn void serve(const char *ip, int control) {
    struct serving serving = {0};
    struct offer offer;
    int command;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("SOFTVERBS_ROLE", "serving-end", 1);
    serve_setup(&serving, ip, &offer);
    REQUIRE(write(control, &offer, sizeof(offer)) == sizeof(offer));
    for (;;) {
        struct pollfd ready[] = {{.fd = serving.channel->fd, .events = POLLIN},
                                 {.fd = control, .events = POLLIN}};
        poll(ready, 2, -1);
        if (ready[0].revents) serve_event(&serving);
        if (!ready[1].revents) continue;
        if (read(control, &command, sizeof(command)) != sizeof(command)) _exit(0);
        int answer = serve_command(&serving, command);
        REQUIRE(write(control, &answer, sizeof(answer)) == sizeof(answer));
    }
}

struct owner owner_start(const char *ip) {
    struct owner owner = {0};
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    fflush(stdout);
    owner.pid = fork();
    REQUIRE(owner.pid >= 0);
    if (owner.pid == 0) {
        close(pair[0]);
        serve(ip, pair[1]);
    }
    close(pair[1]);
    owner.control = pair[0];
    REQUIRE(read(pair[0], &owner.offer, sizeof(owner.offer)) == sizeof(owner.offer));
    return owner;
}

int owner_do(struct owner *owner, enum command command) {
    int answer = -1, word = (int)command;
    REQUIRE(write(owner->control, &word, sizeof(word)) == sizeof(word));
    REQUIRE(read(owner->control, &answer, sizeof(answer)) == sizeof(answer));
    return answer;
}

bool owner_says(struct owner *owner, enum command command, int answer) {
    for (long end = now_ms() + SOON_MS; now_ms() < end; usleep(1000)) {
        if (owner_do(owner, command) == answer) return true;
    }
    return false;
}

void owner_stop(struct owner *owner) {
    kill(owner->pid, SIGKILL);
    waitpid(owner->pid, NULL, 0);
    close(owner->control);
}

/* ---- the reader ---- */

void reader_prepare(struct reader *reader, const struct owner *owner, struct options options) {
    struct sockaddr_storage addr =
        address(options.ip ? options.ip : "127.0.0.1", (uint16_t)owner->offer.port);
    *reader = (struct reader){.channel = rdma_create_event_channel()};
    REQUIRE(reader->channel);
    REQUIRE(rdma_create_id(reader->channel, &reader->id, reader, RDMA_PS_TCP) == 0);
    REQUIRE(rdma_resolve_addr(reader->id, NULL, (struct sockaddr *)&addr, 1000) == 0);
    REQUIRE(take_event(reader->channel, SOON_MS) == RDMA_CM_EVENT_ADDR_RESOLVED);
    REQUIRE(rdma_resolve_route(reader->id, 1000) == 0);
    REQUIRE(take_event(reader->channel, SOON_MS) == RDMA_CM_EVENT_ROUTE_RESOLVED);
    struct ibv_context *verbs = reader->id->verbs;
    reader->pd = ibv_alloc_pd(verbs);
    reader->completions = ibv_create_comp_channel(verbs);
    reader->cq =
        ibv_create_cq(verbs, options.cqe ? options.cqe : 1024, reader, reader->completions, 0);
    REQUIRE(reader->pd && reader->completions && reader->cq);
    reader->sink = calloc(1, SINK);
    int sink_access = IBV_ACCESS_LOCAL_WRITE;
    if (verbs->device->transport_type == IBV_TRANSPORT_IWARP)
        sink_access |= IBV_ACCESS_REMOTE_WRITE;
    reader->mr = ibv_reg_mr(reader->pd, reader->sink, SINK, sink_access);
    REQUIRE(reader->mr);
    struct ibv_qp_init_attr init =
        qp_init(reader->cq, options.send_wr ? (uint32_t)options.send_wr : 512);
    init.sq_sig_all = options.sig_all;
    REQUIRE(rdma_create_qp(reader->id, reader->pd, &init) == 0);
}

int reader_connect(struct reader *reader, struct options options) {
    uint8_t depth = options.no_depth ? 0 : options.depth ? (uint8_t)options.depth : 255;
    struct rdma_conn_param param = {.private_data = options.private_data,
                                    .private_data_len = (uint8_t)options.private_len,
                                    .initiator_depth = depth,
                                    .responder_resources = depth,
                                    .retry_count = options.retry ? (uint8_t)options.retry : 6,
                                    .rnr_retry_count = (uint8_t)options.rnr_retry};
    struct rdma_cm_event *event;
    if (rdma_connect(reader->id, &param)) return -errno;
    int type = next_event(reader->channel, SOON_MS, &event);
    REQUIRE(type >= 0);
    reader->negotiated = event->param.conn;
    if (event->param.conn.private_data)
        memcpy(reader->private_data, event->param.conn.private_data,
               event->param.conn.private_data_len);
    if (type == RDMA_CM_EVENT_REJECTED) reader->negotiated.qp_num = (uint32_t)event->status;
    rdma_ack_cm_event(event);
    return type;
}

void reader_open(struct reader *reader, const struct owner *owner, struct options options) {
    reader_prepare(reader, owner, options);
    REQUIRE(reader_connect(reader, options) == RDMA_CM_EVENT_ESTABLISHED);
}

void reader_close(struct reader *reader) {
    rdma_destroy_qp(reader->id);
    CHECK(ibv_dereg_mr(reader->mr) == 0);
    CHECK(ibv_destroy_cq(reader->cq) == 0);
    CHECK(ibv_destroy_comp_channel(reader->completions) == 0);
    CHECK(ibv_dealloc_pd(reader->pd) == 0);
    CHECK(rdma_destroy_id(reader->id) == 0);
    rdma_destroy_event_channel(reader->channel);
    free(reader->sink);
}

int reader_post(struct reader *reader, const struct owner *owner, struct read *reads, int count) {
    struct ibv_send_wr *bad = NULL;
    for (int i = 0; i < count; i++) {
        struct read *read = &reads[i];
        read->sge = (struct ibv_sge){.addr = (uintptr_t)reader->sink + read->at,
                                     .length = read->length,
                                     .lkey = reader->mr->lkey};
        read->wr =
            (struct ibv_send_wr){.wr_id = (uint64_t)i,
                                 .next = i + 1 < count ? &reads[i + 1].wr : NULL,
                                 .sg_list = &read->sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_READ,
                                 .send_flags = read->unsignaled ? 0 : IBV_SEND_SIGNALED,
                                 .wr.rdma = {.remote_addr = owner->offer.addr + read->offset,
                                             .rkey = read->rkey ? read->rkey : owner->offer.rkey}};
    }
    return ibv_post_send(reader->id->qp, &reads[0].wr, &bad);
}

/* As many as come until there are `count` or the time is over. */
int reader_poll(struct reader *reader, struct ibv_wc *wc, int count, int timeout_ms) {
    long end = now_ms() + timeout_ms;
    int got = 0;
    for (;;) {
        int n = ibv_poll_cq(reader->cq, count - got, wc + got);
        if (n < 0) return n;
        got += n;
        if (got == count || now_ms() >= end) return got;
        if (n == 0) usleep(100);
    }
}

/* One signaled READ; its status, or GENERAL_ERR when none came. */
enum ibv_wc_status reader_read(struct reader *reader, const struct owner *owner, uint64_t offset,
                               uint32_t length, uint32_t rkey) {
    struct read read = {.offset = offset, .length = length, .rkey = rkey};
    struct ibv_wc wc;
    if (reader_post(reader, owner, &read, 1)) return IBV_WC_GENERAL_ERR;
    return reader_poll(reader, &wc, 1, SOON_MS) == 1 ? wc.status : IBV_WC_GENERAL_ERR;
}

bool sink_right(const struct reader *reader, uint64_t at, uint64_t offset, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        if (reader->sink[at + i] != test_byte(offset + i)) return false;
    }
    return true;
}

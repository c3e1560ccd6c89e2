/*
 * What somebody on the fabric could try against an owner of map outputs, in plain verbs:
 *
 *   attacker ADDRESS PORT connect          connects once with each private data given
 *   attacker ADDRESS PORT flood COUNT      connects without a proof as fast as it can
 *   attacker ADDRESS PORT hold             asks with each private data, then stops itself half way
 *   attacker ADDRESS PORT read             one READ per connection: each given key, address, length
 *   attacker ADDRESS PORT write            the same with RDMA WRITEs
 *   attacker ADDRESS PORT atomic           the same with fetch-and-add
 *
 * Private data comes in hex (- for none) on standard input, one connection a line; read, write and
 * atomic want " RKEY ADDRESS LENGTH" (hex) behind it. Ends with "tried N got in M refused K": got
 * in means an established connection, or an access after which the connection still serves: each
 * access must complete with success, and a READ behind a WRITE too, since iWARP completes a WRITE
 * once it is sent. Exit code 0 if it could try.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRIVATE_BYTES = 56, SINK_BYTES = 1 << 20, STEP_MS = 20000 };

/* libsiw takes the 145th page that a process maps of a device for none (SIW_INVAL_UOBJ_KEY), and
 * each attempt maps three. */
enum { AT_ONCE = 32 };

struct line {
    uint8_t proof[PRIVATE_BYTES];
    int proof_bytes;
    uint32_t rkey;
    uint64_t address;
    uint32_t length;
};

struct attempt {
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static struct rdma_event_channel *channel;
static struct sockaddr_in target;
static int tried, got_in, refused;

static void must(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "attacker: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* The next event of the channel; -1 when none comes in time. */
static int next_event(struct rdma_cm_id **id) {
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    if (poll(&fd, 1, STEP_MS) <= 0 || rdma_get_cm_event(channel, &event)) return -1;
    int type = event->event;
    if (id) *id = event->id;
    rdma_ack_cm_event(event);
    return type;
}

static void end(struct attempt *attempt) {
    if (attempt->id->qp) rdma_destroy_qp(attempt->id);
    if (attempt->cq) ibv_destroy_cq(attempt->cq);
    rdma_destroy_id(attempt->id);
    if (attempt->pd) ibv_dealloc_pd(attempt->pd);
}

/* Up to the queue pair; nothing was sent to the target yet. */
static struct attempt prepare(void) {
    struct attempt attempt = {0};
    must(!rdma_create_id(channel, &attempt.id, NULL, RDMA_PS_TCP), "rdma_create_id");
    must(!rdma_resolve_addr(attempt.id, NULL, (struct sockaddr *)&target, STEP_MS), "resolve");
    must(next_event(NULL) == RDMA_CM_EVENT_ADDR_RESOLVED, "address");
    must(!rdma_resolve_route(attempt.id, STEP_MS), "rdma_resolve_route");
    must(next_event(NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED, "route");
    attempt.pd = ibv_alloc_pd(attempt.id->verbs);
    must(attempt.pd, "ibv_alloc_pd");
    attempt.cq = ibv_create_cq(attempt.id->verbs, 4, NULL, NULL, 0);
    must(attempt.cq, "ibv_create_cq");
    struct ibv_qp_init_attr init = {
        .send_cq = attempt.cq,
        .recv_cq = attempt.cq,
        .cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    must(!rdma_create_qp(attempt.id, attempt.pd, &init), "rdma_create_qp");
    return attempt;
}

/* Whether the request went out; soft-iWARP is refused within the call. */
static bool ask(struct attempt *attempt, const struct line *line) {
    struct rdma_conn_param param = {
        .private_data = line->proof,
        .private_data_len = (uint8_t)line->proof_bytes,
        .initiator_depth = 1,
        .responder_resources = 1,
        .retry_count = 3,
    };
    tried++;
    if (!rdma_connect(attempt->id, &param)) return true;
    refused++;
    return false;
}

static bool is_in(int event) {
    if (event == RDMA_CM_EVENT_ESTABLISHED) return true;
    refused += event == RDMA_CM_EVENT_REJECTED;
    return false;
}

/* Whether this many work requests complete with success. */
static bool all_succeed(struct ibv_cq *cq, int count) {
    struct ibv_wc wc;
    /* soft-iWARP may never complete what was refused */
    for (int waited = 0; waited < 3000; waited++) {
        while (ibv_poll_cq(cq, 1, &wc) > 0) {
            if (wc.status != IBV_WC_SUCCESS) return false;
            if (--count == 0) return true;
        }
        poll(NULL, 0, 1);
    }
    return false;
}

/* One access to the target's memory; true when the target let it happen. */
static bool access_memory(struct attempt *attempt, const struct line *line,
                          enum ibv_wr_opcode opcode) {
    static uint64_t sink[SINK_BYTES / sizeof(uint64_t)];
    struct ibv_mr *mr = ibv_reg_mr(attempt->pd, sink, sizeof(sink),
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    must(mr, "ibv_reg_mr");
    struct ibv_sge sge = {.addr = (uintptr_t)sink, .length = line->length, .lkey = mr->lkey};
    struct ibv_send_wr *bad, read = {
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_READ,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .wr.rdma = {.remote_addr = line->address, .rkey = line->rkey},
                             };
    struct ibv_send_wr first = read;
    first.opcode = opcode;
    if (opcode == IBV_WR_RDMA_WRITE) first.next = &read;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        sge.length = sizeof(uint64_t);
        first.wr.atomic.remote_addr = line->address;
        first.wr.atomic.compare_add = 1;
        first.wr.atomic.rkey = line->rkey;
    }
    bool in = !ibv_post_send(attempt->id->qp, &first, &bad) &&
              all_succeed(attempt->cq, first.next ? 2 : 1);
    rdma_destroy_qp(attempt->id); /* nothing touches the sink from here on */
    ibv_dereg_mr(mr);
    return in;
}

static bool read_line(struct line *line) {
    char text[512], hex[256];
    unsigned long rkey = 0, address = 0, length = 0;
    unsigned int byte;
    if (!fgets(text, sizeof(text), stdin)) return false;
    must(sscanf(text, "%255s %lx %lx %lx", hex, &rkey, &address, &length) >= 1, "a line of input");
    *line = (struct line){.rkey = (uint32_t)rkey, .address = address};
    line->length = (uint32_t)(length < SINK_BYTES ? length : SINK_BYTES);
    for (const char *at = hex; line->proof_bytes < PRIVATE_BYTES && sscanf(at, "%2x", &byte) == 1;
         at += 2)
        line->proof[line->proof_bytes++] = (uint8_t)byte;
    return true;
}

static void connect_each(bool then_access, enum ibv_wr_opcode opcode) {
    struct line line;
    while (read_line(&line)) {
        struct attempt attempt = prepare();
        bool in = ask(&attempt, &line) && is_in(next_event(NULL));
        if (in && then_access) {
            in = access_memory(&attempt, &line, opcode);
            refused += !in;
        }
        got_in += in;
        end(&attempt);
    }
}

/* Many at once, all of them without a proof. */
static void flood(int count) {
    struct line nothing = {0};
    for (int done = 0; done < count; done += AT_ONCE) {
        struct attempt attempts[AT_ONCE];
        int waiting = 0;
        for (int i = 0; i < AT_ONCE; i++) attempts[i] = prepare();
        for (int i = 0; i < AT_ONCE; i++) waiting += ask(&attempts[i], &nothing);
        while (waiting-- > 0) got_in += is_in(next_event(NULL));
        for (int i = 0; i < AT_ONCE; i++) end(&attempts[i]);
    }
}

/* Stops before it has taken any answer, so the owner waits for the end of each handshake. */
static void hold(void) {
    static struct attempt attempts[1024];
    static struct line lines[1024];
    int count = 0;
    while (count < 1024 && read_line(&lines[count])) attempts[count++] = prepare();
    for (int i = 0; i < count; i++) ask(&attempts[i], &lines[i]);
    printf("holding %d\n", tried);
    fflush(stdout);
    raise(SIGSTOP);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    const char *attack = argv[3];
    target.sin_family = AF_INET;
    target.sin_port = htons((uint16_t)atoi(argv[2]));
    must(inet_pton(AF_INET, argv[1], &target.sin_addr) == 1, argv[1]);
    channel = rdma_create_event_channel();
    must(channel, "rdma_create_event_channel");
    if (!strcmp(attack, "connect"))
        connect_each(false, IBV_WR_RDMA_READ);
    else if (!strcmp(attack, "flood") && argc > 4)
        flood(atoi(argv[4]));
    else if (!strcmp(attack, "hold"))
        hold();
    else if (!strcmp(attack, "read"))
        connect_each(true, IBV_WR_RDMA_READ);
    else if (!strcmp(attack, "write"))
        connect_each(true, IBV_WR_RDMA_WRITE);
    else if (!strcmp(attack, "atomic"))
        connect_each(true, IBV_WR_ATOMIC_FETCH_AND_ADD);
    else
        return 2;
    printf("tried %d got in %d refused %d\n", tried, got_in, refused);
    return 0;
}

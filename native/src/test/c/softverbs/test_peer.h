/* The two ends of the tests: an owner process that serves memory, a reader in the test's process.
 */
#ifndef TEST_PEER_H
#define TEST_PEER_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

extern int test_failures;

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (condition) break;                                                      \
        printf("# %s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
        test_failures++;                                                           \
    } while (0)

/* For what the rest of a case cannot do without. */
#define REQUIRE(condition)         \
    do {                           \
        CHECK(condition);          \
        if (!test_failures) break; \
        fflush(stdout);            \
        _exit(1);                  \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

/* Each ends with a row without a name. */
extern const struct test data_tests[], limit_tests[], cm_tests[], fault_tests[];

/* What must happen does so within this, however loaded the machine is. */
enum { SOON_MS = 10000 };

/* Small enough for the 8 MiB an ordinary user may usually lock, more than one batch of a copy. */
enum { REGION = 1 << 20, SINK = 2 << 20 };

/* What the owner tells of itself. Byte i of its region is test_byte(i). */
struct offer {
    uint64_t port, addr;
    uint32_t rkey;          /* REMOTE_READ */
    uint32_t rkey_writable; /* REMOTE_WRITE */
    uint32_t rkey_local;    /* no remote right */
    uint32_t rkey_other_pd; /* of a PD no connection uses */
};

struct owner {
    pid_t pid;
    int control;
    struct offer offer;
};

/* What the owner may be told to do; it answers each with an int. */
enum command {
    OWNER_DEREG = 1,
    OWNER_QP_STATE,
    OWNER_DESTROY_QP,
    OWNER_DISCONNECT,
    OWNER_POST_RECV, /* receives land at the start of its region */
    OWNER_FIRST_BYTE,
    OWNER_EVENTS, /* how many DISCONNECTED it has got */
    OWNER_REJECT_NEXT,
};

struct owner owner_start(const char *ip);
int owner_do(struct owner *owner, enum command command);
bool owner_says(struct owner *owner, enum command command, int answer); /* at last */
void owner_stop(struct owner *owner);
uint8_t test_byte(uint64_t at);

struct reader {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions;
    struct ibv_cq *cq;
    uint8_t *sink;
    struct ibv_mr *mr;
    struct rdma_conn_param negotiated;
    uint8_t private_data[256];
};

/* What a connection is made with; zeros stand for the usual. */
struct options {
    const char *ip;
    int send_wr, cqe, depth;
    int rnr_retry, retry;
    bool no_depth, sig_all;
    const void *private_data;
    int private_len;
};

void reader_prepare(struct reader *reader, const struct owner *owner, struct options options);
int reader_connect(struct reader *reader, struct options options); /* event, or -errno */
void reader_open(struct reader *reader, const struct owner *owner, struct options options);
void reader_close(struct reader *reader);

/* One READ of the owner's region into the sink at `at`. */
struct read {
    uint64_t offset, at;
    uint32_t length, rkey;
    bool unsignaled;
    struct ibv_send_wr wr;
    struct ibv_sge sge;
};

int reader_post(struct reader *reader, const struct owner *owner, struct read *reads, int count);
enum ibv_wc_status reader_read(struct reader *reader, const struct owner *owner, uint64_t offset,
                               uint32_t length, uint32_t rkey);
int reader_poll(struct reader *reader, struct ibv_wc *wc, int count, int timeout_ms);
bool sink_right(const struct reader *reader, uint64_t at, uint64_t offset, uint64_t length);
int next_event(struct rdma_event_channel *channel, int timeout_ms, struct rdma_cm_event **event);
int take_event(struct rdma_event_channel *channel, int timeout_ms); /* its type, acked; or -1 */
int async_event(struct ibv_context *context, int timeout_ms);       /* its type, acked; or -1 */
enum ibv_qp_state qp_state(struct ibv_qp *qp);
long now_ms(void);

#endif

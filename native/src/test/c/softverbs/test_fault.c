/* Scripted failures. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_peer.h"

/* A reader whose process alone has the script; the owner is told by its role. */
static void open_with(const char *script, struct reader *reader, struct owner *owner) {
    *owner = owner_start("127.0.0.1");
    setenv("SOFTVERBS_FAULTS", script, 1);
    reader_open(reader, owner, (struct options){0});
}

static void close_both(struct reader *reader, struct owner *owner) {
    reader_close(reader);
    owner_stop(owner);
}

static void calls_fail(void) {
    struct owner owner;
    struct reader reader;
    struct ibv_wc wc;
    struct read read = {.length = 8};
    open_with(
        "reg_mr when 2 errno=ENOMEM; create_cq after 1 errno=EMFILE; post_send when 1 "
        "errno=EIO\n# a comment; with more\npoll when 1 errno=EIO # here too",
        &reader, &owner);
    CHECK(ibv_reg_mr(reader.pd, reader.sink, 8, 0) == NULL && errno == ENOMEM);
    CHECK(ibv_create_cq(reader.id->verbs, 8, NULL, NULL, 0) == NULL && errno == EMFILE);
    CHECK(reader_post(&reader, &owner, &read, 1) == EIO);
    CHECK(reader_post(&reader, &owner, &read, 1) == 0);
    CHECK(ibv_poll_cq(reader.cq, 1, &wc) < 0);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1);
    close_both(&reader, &owner);
}

static void read_fails_with_status(void) {
    struct owner owner;
    struct reader reader;
    struct read reads[4] = {{.length = 8}, {.length = 8}, {.length = 8}, {.length = 8}};
    struct ibv_wc wc[4];
    open_with("read when 3 status=RETRY_EXC_ERR", &reader, &owner);
    CHECK(reader_post(&reader, &owner, reads, 4) == 0);
    CHECK(reader_poll(&reader, wc, 4, SOON_MS) == 4);
    CHECK(wc[1].status == IBV_WC_SUCCESS && wc[2].status == IBV_WC_RETRY_EXC_ERR);
    CHECK(wc[3].status == IBV_WC_WR_FLUSH_ERR);
    close_both(&reader, &owner);
}

static void completion_is_lost(void) {
    struct owner owner;
    struct reader reader;
    struct read reads[3] = {{.length = 8}, {.length = 8}, {.length = 8}};
    struct ibv_wc wc[3];
    open_with("read when 2 drop", &reader, &owner);
    CHECK(reader_post(&reader, &owner, reads, 3) == 0);
    CHECK(reader_poll(&reader, wc, 3, 100) == 2);
    CHECK(wc[0].wr_id == 0 && wc[1].wr_id == 2);
    close_both(&reader, &owner);
}

static void read_is_late(void) {
    struct owner owner;
    struct reader reader;
    open_with("read every 2 delay=400", &reader, &owner);
    long start = now_ms();
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    CHECK(now_ms() - start < 400);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    CHECK(now_ms() - start >= 400);
    close_both(&reader, &owner);
}

static void byte_is_flipped(void) {
    struct owner owner;
    struct reader reader;
    open_with("read when 1 corrupt", &reader, &owner);
    CHECK(reader_read(&reader, &owner, 0, 1000, 0) == IBV_WC_SUCCESS);
    CHECK(!sink_right(&reader, 0, 0, 1000));
    CHECK(sink_right(&reader, 0, 0, 500) && sink_right(&reader, 501, 501, 499));
    close_both(&reader, &owner);
}

static void stalls_until_disconnect(void) {
    struct owner owner;
    struct reader reader;
    struct ibv_wc wc[2];
    struct read reads[2] = {{.length = 8}, {.length = 8}};
    open_with("read when 1 stall", &reader, &owner);
    CHECK(reader_post(&reader, &owner, reads, 2) == 0);
    CHECK(reader_poll(&reader, wc, 2, 100) == 0);
    CHECK(rdma_disconnect(reader.id) == 0);
    CHECK(reader_poll(&reader, wc, 2, SOON_MS) == 2 && wc[0].status == IBV_WC_WR_FLUSH_ERR);
    close_both(&reader, &owner);
}

static void connection_breaks(void) {
    struct owner owner;
    struct reader reader;
    struct read read = {.length = 8};
    open_with("read when 1 disconnect", &reader, &owner);
    CHECK(reader_post(&reader, &owner, &read, 1) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DISCONNECTED);
    CHECK(owner_says(&owner, OWNER_EVENTS, 1));
    close_both(&reader, &owner);
}

static void event_comes_in_between(void) {
    struct owner owner;
    struct reader reader;
    struct ibv_wc wc;
    struct read read = {.length = 8};
    open_with("read when 1 event=ADDR_CHANGE", &reader, &owner);
    CHECK(reader_post(&reader, &owner, &read, 1) == 0);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_ADDR_CHANGE);
    CHECK(reader_poll(&reader, &wc, 1, 100) == 0);
    close_both(&reader, &owner);
}

static void queue_pair_dies(void) {
    struct owner owner;
    struct reader reader;
    open_with("read when 2 kill_qp", &reader, &owner);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_WR_FLUSH_ERR);
    CHECK(async_event(reader.id->verbs, SOON_MS) == IBV_EVENT_QP_FATAL);
    close_both(&reader, &owner);
}

static void write_script(const char *path, const char *script) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && write(fd, script, strlen(script)) == (ssize_t)strlen(script));
    close(fd);
}

/* The file is read again while the process runs: the port goes down and up, then the device dies.
 */
static void script_file_is_followed(void) {
    char path[] = "./softverbs_faults.XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_port_attr port;
    struct ibv_wc wc;
    struct read read = {.length = 8};
    setenv("SOFTVERBS_FAULTS_FILE", path, 1);
    reader_open(&reader, &owner, (struct options){0});
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    write_script(path, "now port_down");
    CHECK(async_event(reader.id->verbs, SOON_MS) == IBV_EVENT_PORT_ERR);
    CHECK(ibv_query_port(reader.id->verbs, 1, &port) == 0 && port.state == IBV_PORT_DOWN);
    CHECK(reader_post(&reader, &owner, &read, 1) == 0);
    CHECK(reader_poll(&reader, &wc, 1, 50) == 0);
    write_script(path, "now port_up\n");
    CHECK(async_event(reader.id->verbs, SOON_MS) == IBV_EVENT_PORT_ACTIVE);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.status == IBV_WC_SUCCESS);
    write_script(path, "now device_fatal  ");
    CHECK(async_event(reader.id->verbs, SOON_MS) == IBV_EVENT_DEVICE_FATAL);
    CHECK(take_event(reader.channel, SOON_MS) == RDMA_CM_EVENT_DEVICE_REMOVAL);
    CHECK(qp_state(reader.id->qp) == IBV_QPS_ERR);
    CHECK(ibv_reg_mr(reader.pd, reader.sink, 8, 0) == NULL && errno == EIO);
    unlink(path);
    close_both(&reader, &owner);
}

static int connect_under(const char *script) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    setenv("SOFTVERBS_FAULTS", script, 1);
    reader_prepare(&reader, &owner, (struct options){0});
    int event = reader_connect(&reader, (struct options){0});
    close_both(&reader, &owner);
    return event;
}

static void connect_is_refused(void) {
    CHECK(connect_under("connect when 1 reject") == RDMA_CM_EVENT_REJECTED);
}

static void connect_times_out(void) {
    CHECK(connect_under("connect error") == RDMA_CM_EVENT_UNREACHABLE);
}

static void connect_fails_at_once(void) {
    CHECK(connect_under("connect when 1 errno=ENOMEM") == -ENOMEM);
}

static void connect_is_late(void) {
    long start = now_ms();
    CHECK(connect_under("connect delay=100") == RDMA_CM_EVENT_ESTABLISHED);
    CHECK(now_ms() - start >= 100);
}

static void rules_are_for_one_process(void) {
    struct owner owner;
    struct reader reader;
    open_with("proc=serving-end read status=GENERAL_ERR; proc=no-such-end read status=GENERAL_ERR",
              &reader, &owner);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    close_both(&reader, &owner);
}

static void role_is_matched(void) {
    struct owner owner;
    struct reader reader;
    setenv("SOFTVERBS_ROLE", "executor-1", 1);
    open_with("proc=executor read status=GENERAL_ERR", &reader, &owner);
    struct read read = {.length = 8};
    struct ibv_wc wc;
    CHECK(reader_post(&reader, &owner, &read, 1) == 0);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.status == IBV_WC_GENERAL_ERR);
    close_both(&reader, &owner);
}

static int outcomes_of(const char *script) {
    struct owner owner;
    struct reader reader;
    int mask = 0;
    open_with(script, &reader, &owner);
    for (int i = 0; i < 16; i++) {
        CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
        mask |= !sink_right(&reader, 0, 0, 8) << i;
    }
    close_both(&reader, &owner);
    return mask;
}

/* In a process of its own, as the first that opens the library decides which script is loaded. */
static int low_outcomes_of(const char *script) {
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int mask = outcomes_of(script);
        _exit(test_failures ? 0 : mask & 0xff);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static void chance_is_repeatable(void) {
    int outcomes = low_outcomes_of("read prob 0.5 seed 7 corrupt");
    CHECK(outcomes != 0 && outcomes == low_outcomes_of("read prob 0.5 seed 7 corrupt"));
}

static void chance_does_not_begin_with_a_hit(void) {
    int first = 1;
    for (int seed = 1; seed <= 4; seed++) {
        char script[64];
        snprintf(script, sizeof(script), "read prob 0.3 seed %d corrupt", seed);
        first &= low_outcomes_of(script);
    }
    CHECK(first == 0);
}

static void bad_script_ends_the_process(const char *script) {
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("SOFTVERBS_FAULTS", script, 1);
        freopen("/dev/null", "w", stderr);
        rdma_create_event_channel();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 64);
}

static void bad_scripts(void) {
    bad_script_ends_the_process("read sometimes corrupt");
    bad_script_ends_the_process("reed corrupt");
    bad_script_ends_the_process("read when corrupt");
    bad_script_ends_the_process("read event=CORRUPT");
    bad_script_ends_the_process("read corrupt twice");
    bad_script_ends_the_process("reg_mr drop"); /* no sense */
    bad_script_ends_the_process("reg_mr errno=ENOTHING");
}

const struct test fault_tests[] = {
    {"calls_fail", calls_fail},
    {"read_fails_with_status", read_fails_with_status},
    {"completion_is_lost", completion_is_lost},
    {"read_is_late", read_is_late},
    {"byte_is_flipped", byte_is_flipped},
    {"stalls_until_disconnect", stalls_until_disconnect},
    {"connection_breaks", connection_breaks},
    {"event_comes_in_between", event_comes_in_between},
    {"queue_pair_dies", queue_pair_dies},
    {"script_file_is_followed", script_file_is_followed},
    {"connect_is_refused", connect_is_refused},
    {"connect_times_out", connect_times_out},
    {"connect_fails_at_once", connect_fails_at_once},
    {"connect_is_late", connect_is_late},
    {"rules_are_for_one_process", rules_are_for_one_process},
    {"role_is_matched", role_is_matched},
    {"chance_is_repeatable", chance_is_repeatable},
    {"chance_does_not_begin_with_a_hit", chance_does_not_begin_with_a_hit},
    {"bad_scripts", bad_scripts},
    {NULL, NULL},
};

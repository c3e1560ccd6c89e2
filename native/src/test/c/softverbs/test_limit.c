/* Limits: queues, devices, memory. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "test_peer.h"

static void send_queue_is_full(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read reads[6] = {{.length = 8, .unsignaled = true}, {.length = 8, .unsignaled = true},
                            {.length = 8, .unsignaled = true}, {.length = 8},
                            {.length = 8, .unsignaled = true}, {.length = 8}};
    struct ibv_wc wc;
    reader_open(&reader, &owner, (struct options){.send_wr = 4});
    CHECK(reader_post(&reader, &owner, reads, 6) == ENOMEM); /* four are taken */
    usleep(50000);
    CHECK(reader_post(&reader, &owner, reads, 1) == ENOMEM); /* done, but not polled yet */
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.wr_id == 3);
    CHECK(reader_post(&reader, &owner, reads, 4) == 0);
    CHECK(reader_poll(&reader, &wc, 1, SOON_MS) == 1 && wc.wr_id == 3);
    reader_close(&reader);
    owner_stop(&owner);
}

static void states_of_posting(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read read = {.length = 8};
    reader_prepare(&reader, &owner, (struct options){0});
    CHECK(qp_state(reader.id->qp) == IBV_QPS_INIT);
    CHECK(reader_post(&reader, &owner, &read, 1) == EINVAL);
    CHECK(reader_connect(&reader, (struct options){0}) == RDMA_CM_EVENT_ESTABLISHED);
    CHECK(qp_state(reader.id->qp) == IBV_QPS_RTS);
    CHECK(reader_read(&reader, &owner, 0, 8, 0) == IBV_WC_SUCCESS);
    reader_close(&reader);
    owner_stop(&owner);
}

static void completion_queue_overruns(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct read reads[4] = {{.length = 8}, {.length = 8}, {.length = 8}, {.length = 8}};
    reader_open(&reader, &owner, (struct options){.cqe = 3});
    CHECK(reader_post(&reader, &owner, reads, 4) == 0);
    CHECK(async_event(reader.id->verbs, SOON_MS) == IBV_EVENT_CQ_ERR);
    CHECK(qp_state(reader.id->qp) == IBV_QPS_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

static void message_too_long(void) {
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    struct ibv_port_attr port;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(ibv_query_port(reader.id->verbs, 1, &port) == 0);
    CHECK(port.state == IBV_PORT_ACTIVE && port.max_msg_sz == 8 << 20);
    CHECK(reader_read(&reader, &owner, 0, (8 << 20) + 1, 0) == IBV_WC_LOC_LEN_ERR);
    reader_close(&reader);
    owner_stop(&owner);
}

/* 0 when the region registers, else why not. */
static int registers(struct ibv_pd *pd, void *addr, size_t length, int access) {
    struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, access);
    if (!mr) return errno;
    CHECK(ibv_dereg_mr(mr) == 0);
    return 0;
}

static void configured_devices(void) {
    setenv("SOFTVERBS_DEVICES",
           "soft0:max_qp=1,max_mr=7,max_rd_atomic=16,max_msg=65536,soft1:transport=iwarp,port=down",
           1);
    struct owner owner = owner_start("127.0.0.1");
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    int count;
    struct ibv_context **devices = rdma_get_devices(&count);
    REQUIRE(devices && count == 2 && devices[2] == NULL);
    CHECK(!strcmp(ibv_get_device_name(devices[0]->device), "soft0"));
    CHECK(ibv_query_device(devices[0], &attr) == 0);
    CHECK(attr.max_qp == 1 && attr.max_mr == 7 && attr.max_qp_init_rd_atom == 16);
    CHECK(ibv_query_port(devices[0], 1, &port) == 0 && port.max_msg_sz == 65536);
    CHECK(devices[1]->device->transport_type == IBV_TRANSPORT_IWARP);
    CHECK(ibv_query_port(devices[1], 1, &port) == 0 && port.state == IBV_PORT_DOWN);
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    CHECK(reader.id->verbs == devices[0]);
    CHECK(reader.negotiated.initiator_depth == 16);
    struct ibv_qp_init_attr init = {
        .send_cq = reader.cq, .recv_cq = reader.cq, .qp_type = IBV_QPT_RC};
    CHECK(ibv_create_qp(reader.pd, &init) == NULL && errno == ENOMEM);
    struct ibv_mr *more[6];
    for (int i = 0; i < 6; i++) more[i] = ibv_reg_mr(reader.pd, reader.sink, 1, 0);
    CHECK(registers(reader.pd, reader.sink, 1, 0) == ENOMEM);
    for (int i = 0; i < 6; i++) CHECK(ibv_dereg_mr(more[i]) == 0);
    CHECK(registers(reader.pd, reader.sink, 1, 0) == 0);
    rdma_free_devices(devices);
    reader_close(&reader);
    owner_stop(&owner);
}

static void no_devices(void) {
    int count = -1;
    setenv("SOFTVERBS_DEVICES", "", 1);
    struct ibv_device **list = ibv_get_device_list(&count);
    CHECK(list && count == 0 && list[0] == NULL);
    ibv_free_device_list(list);
    CHECK(rdma_get_devices(&count) == NULL && count == 0);
    CHECK(rdma_create_event_channel() == NULL && errno == ENODEV);
}

static struct ibv_pd *any_pd(void) {
    struct ibv_context **devices = rdma_get_devices(NULL);
    REQUIRE(devices);
    struct ibv_pd *pd = ibv_alloc_pd(devices[0]);
    rdma_free_devices(devices);
    REQUIRE(pd);
    return pd;
}

static void memlock_of_an_ordinary_user(void) {
    struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int read = IBV_ACCESS_REMOTE_READ;
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    struct ibv_pd *pd = any_pd();
    if (geteuid() == 0) {
        CHECK(registers(pd, memory, 1 << 20, read) == 0);
        REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    }
    CHECK(registers(pd, memory, 65537, read) == ENOMEM);
    struct ibv_mr *half = ibv_reg_mr(pd, memory, 32768, read);
    struct ibv_mr *again = ibv_reg_mr(pd, memory, 32768, read); /* the same pages count again */
    REQUIRE(half && again);
    CHECK(registers(pd, memory, 1, read) == ENOMEM);
    CHECK(ibv_dereg_mr(half) == 0);
    CHECK(registers(pd, memory, 1, read) == 0);
    CHECK(ibv_dereg_mr(again) == 0);
    limit.rlim_cur = limit.rlim_max = 0;
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    CHECK(registers(pd, memory, 1, read) == EPERM);
    CHECK(ibv_dealloc_pd(pd) == 0);
}

static bool on_disk(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != HUGETLBFS_MAGIC;
}

/* The three rules of the kernel: read-only mappings, writable rights on files, holes. */
static void mappings_that_register(void) {
    char path[] = "./softverbs_test.XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0 && ftruncate(fd, 10000) == 0);
    struct ibv_pd *pd = any_pd();
    int read = IBV_ACCESS_REMOTE_READ, write = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE;
    void *ro = mmap(NULL, 16384, PROT_READ, MAP_SHARED, fd, 0);
    void *rw = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(registers(pd, ro, 10000, read) == 0);
    CHECK(registers(pd, rw, 10000, read) == 0);
    CHECK(registers(pd, ro, 10000, write) == EFAULT);
    if (on_disk(fd)) CHECK(registers(pd, rw, 10000, write) == EFAULT);
    CHECK(registers(pd, ro, 12289, read) == EFAULT); /* beyond the last page */
    CHECK(registers(pd, ro, 0, read) == EINVAL);
    CHECK(registers(pd, ro, 1, IBV_ACCESS_REMOTE_WRITE) == EINVAL);
    CHECK(registers(pd, ro, 1, read | IBV_ACCESS_ON_DEMAND) == EOPNOTSUPP);
    setenv("SOFTVERBS_KERNEL", "6.1", 1);
    CHECK(registers(pd, ro, 10000, read) == EFAULT);
    CHECK(registers(pd, rw, 10000, read) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    unlink(path);
    close(fd);
}

static void on_demand_paging(void) {
    setenv("SOFTVERBS_DEVICES", "soft0:odp=1", 1);
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};
    struct ibv_device_attr_ex attr;
    char *memory = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_pd *pd = any_pd();
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    CHECK(ibv_query_device_ex(pd->context, NULL, &attr) == 0);
    CHECK(attr.odp_caps.general_caps & IBV_ODP_SUPPORT);
    CHECK(attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ);
    if (geteuid() == 0) REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(registers(pd, memory, 1 << 20, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
}

const struct test limit_tests[] = {
    {"send_queue_is_full", send_queue_is_full},
    {"states_of_posting", states_of_posting},
    {"completion_queue_overruns", completion_queue_overruns},
    {"message_too_long", message_too_long},
    {"configured_devices", configured_devices},
    {"no_devices", no_devices},
    {"memlock_of_an_ordinary_user", memlock_of_an_ordinary_user},
    {"mappings_that_register", mappings_that_register},
    {"on_demand_paging", on_demand_paging},
    {NULL, NULL},
};

/* Decides which scripted fault hits, and does those that concern a whole device. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softverbs.h"

enum { FILE_CHECK_MS = 50, MAX_SCRIPT = 65536 };

static struct sv_rules rules = SLIST_HEAD_INITIALIZER(rules);
static atomic_bool active; /* looked at without the lock on the fast path */
static struct sv_timer file_timer;
static const char *fault_file;      /* SOFTVERBS_FAULTS_FILE; NULL without */
static struct stat last_file;       /* as it was when last read */
static unsigned int device_actions; /* bits by enum sv_action, for device_task to do */
static void hit_devices(struct sv_task *task);
static struct sv_task device_task = {.run = hit_devices};

static void drop_rules(void) {
    struct sv_rule *rule;
    while ((rule = SLIST_FIRST(&rules))) {
        SLIST_REMOVE_HEAD(&rules, link);
        free(rule);
    }
}

static double next_random(struct sv_rule *rule) {
    rule->seed ^= rule->seed << 13;
    rule->seed ^= rule->seed >> 7;
    rule->seed ^= rule->seed << 17;
    return (double)(rule->seed >> 11) / (double)(1ULL << 53);
}

static bool fires(struct sv_rule *rule) {
    uint64_t n = (uint64_t)rule->n;
    rule->hits++;
    switch (rule->trigger) {
        case SV_ALWAYS:
            return true;
        case SV_WHEN:
            return rule->hits == n;
        case SV_EVERY:
            return n && rule->hits % n == 0;
        case SV_AFTER:
            return rule->hits > n;
        case SV_PROB:
            return next_random(rule) < rule->n;
    }
    return false;
}

static void set_port(struct sv_device *device, enum ibv_port_state state) {
    struct sv_qp *qp;
    if (device->port_state == state) return;
    device->port_state = state;
    sv_device_event(device, state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
    LIST_FOREACH(qp, &sv_qps, all) sv_task_queue(&qp->task);
}

static void kill_device(struct sv_device *device) {
    struct sv_qp *qp;
    if (device->fatal) return;
    device->fatal = true;
    sv_device_event(device, IBV_EVENT_DEVICE_FATAL);
    LIST_FOREACH(qp, &sv_qps, all) {
        if (sv_device(qp->qp.context) == device) sv_qp_error(qp);
    }
    sv_ids_device_removed(device);
}

/* In the loop, where no queue pair can be in the middle of a copy. */
static void hit_devices(struct sv_task *task) {
    int count;
    struct sv_device *all = sv_devices(&count);
    (void)task;
    for (int i = 0; i < count; i++) {
        if (device_actions & 1u << SV_PORT_DOWN) set_port(&all[i], IBV_PORT_DOWN);
        if (device_actions & 1u << SV_PORT_UP) set_port(&all[i], IBV_PORT_ACTIVE);
        if (device_actions & 1u << SV_DEVICE_FATAL) kill_device(&all[i]);
    }
    device_actions = 0;
}

static bool is_device_action(enum sv_action action) {
    return action == SV_PORT_DOWN || action == SV_PORT_UP || action == SV_DEVICE_FATAL;
}

static void load_file(void);

/* All rules of the op count; the first one that fires decides. */
struct sv_fault sv_fault_hit(enum sv_op op) {
    struct sv_fault fault = {.action = SV_NONE};
    struct sv_rule *rule;
    if (!atomic_load(&active)) return fault;
    load_file(); /* at every op, so that a test's next step meets the rules it has just written */
    SLIST_FOREACH(rule, &rules, link) {
        if (rule->op == op && fires(rule) && fault.action == SV_NONE) fault = rule->fault;
    }
    if (!is_device_action(fault.action)) return fault;
    device_actions |= 1u << fault.action;
    sv_task_queue(&device_task);
    return (struct sv_fault){.action = SV_NONE};
}

int sv_fault_call(enum sv_op op) {
    if (!atomic_load(&active)) return 0;
    pthread_mutex_lock(&sv_lock);
    struct sv_fault fault = sv_fault_hit(op);
    pthread_mutex_unlock(&sv_lock);
    if (fault.action == SV_DELAY) usleep((useconds_t)fault.value * 1000);
    return fault.action == SV_ERRNO ? fault.value : 0;
}

static void load(const char *script) {
    drop_rules();
    sv_rules_parse(&rules, script);
    atomic_store(&active, fault_file || !SLIST_EMPTY(&rules));
    sv_fault_hit(SV_OP_NOW);
}

static bool changed(const struct stat *file) {
    return file->st_mtim.tv_sec != last_file.st_mtim.tv_sec ||
           file->st_mtim.tv_nsec != last_file.st_mtim.tv_nsec ||
           file->st_size != last_file.st_size || file->st_ino != last_file.st_ino;
}

/* A file that is gone is an empty script. */
static void load_file(void) {
    char script[MAX_SCRIPT];
    struct stat file;
    if (!fault_file) return;
    if (stat(fault_file, &file)) file = (struct stat){0};
    if (!changed(&file)) return;
    last_file = file;
    int fd = open(fault_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, script, sizeof(script) - 1);
    if (fd >= 0) close(fd);
    script[n > 0 ? n : 0] = '\0';
    load(script);
}

/* For rules that wait for no op. */
static void check_file(struct sv_timer *timer) {
    load_file();
    sv_timer_set(timer, FILE_CHECK_MS);
}

void sv_fault_start(void) {
    const char *script = getenv("SOFTVERBS_FAULTS");
    fault_file = getenv("SOFTVERBS_FAULTS_FILE");
    if (script) load(script);
    if (!fault_file) return;
    atomic_store(&active, true);
    file_timer = (struct sv_timer){.fire = check_file};
    check_file(&file_timer);
}

void sv_fault_forget(void) {
    drop_rules();
    atomic_store(&active, false);
    device_actions = 0;
    device_task.queued = false;
    last_file = (struct stat){0};
}

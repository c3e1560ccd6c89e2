/* The fault language: [proc=TEXT] OP [when N | every N | after N | prob P [seed S]] ACTION */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "softverbs.h"

struct name {
    const char *name;
    int value;
};

/* Device-wide actions go with every op; what else makes sense depends on its kind. */
enum {
    DEVICE = 1 << SV_PORT_DOWN | 1 << SV_PORT_UP | 1 << SV_DEVICE_FATAL,
    CALL = DEVICE | 1 << SV_ERRNO | 1 << SV_DELAY,
    WORK = DEVICE | 1 << SV_STATUS | 1 << SV_DROP | 1 << SV_DELAY | 1 << SV_STALL |
           1 << SV_KILL_QP | 1 << SV_DISCONNECT | 1 << SV_EVENT,
    STEP = CALL | 1 << SV_ERROR | 1 << SV_DROP,
};

static const struct op {
    const char *name;
    enum sv_op op;
    unsigned int actions; /* bits by enum sv_action */
} ops[] = {
    {"now", SV_OP_NOW, DEVICE},
    {"alloc_pd", SV_OP_ALLOC_PD, CALL},
    {"reg_mr", SV_OP_REG_MR, CALL},
    {"create_cq", SV_OP_CREATE_CQ, CALL},
    {"create_qp", SV_OP_CREATE_QP, CALL},
    {"post_send", SV_OP_POST_SEND, CALL},
    {"post_recv", SV_OP_POST_RECV, CALL},
    {"poll", SV_OP_POLL, CALL},
    {"read", SV_OP_READ, WORK | 1 << SV_CORRUPT},
    {"write", SV_OP_WRITE, WORK},
    {"send", SV_OP_SEND, WORK},
    {"bind_addr", SV_OP_BIND_ADDR, CALL},
    {"listen", SV_OP_LISTEN, CALL},
    {"resolve_addr", SV_OP_RESOLVE_ADDR, STEP},
    {"resolve_route", SV_OP_RESOLVE_ROUTE, STEP},
    {"connect", SV_OP_CONNECT, STEP | 1 << SV_REJECT},
    {"accept", SV_OP_ACCEPT, STEP},
    {"cm_event", SV_OP_CM_EVENT, DEVICE | 1 << SV_DROP | 1 << SV_DELAY | 1 << SV_EVENT},
};

static const struct name triggers[] = {
    {"when", SV_WHEN}, {"every", SV_EVERY}, {"after", SV_AFTER}, {"prob", SV_PROB}, {NULL, 0},
};

static const struct name actions[] = {
    {"error", SV_ERROR},
    {"reject", SV_REJECT},
    {"drop", SV_DROP},
    {"corrupt", SV_CORRUPT},
    {"stall", SV_STALL},
    {"kill_qp", SV_KILL_QP},
    {"disconnect", SV_DISCONNECT},
    {"port_down", SV_PORT_DOWN},
    {"port_up", SV_PORT_UP},
    {"device_fatal", SV_DEVICE_FATAL},
    {NULL, 0},
};

static const struct name errnos[] = {
    {"EPERM", EPERM},
    {"EINTR", EINTR},
    {"EIO", EIO},
    {"EAGAIN", EAGAIN},
    {"ENOMEM", ENOMEM},
    {"EACCES", EACCES},
    {"EFAULT", EFAULT},
    {"EBUSY", EBUSY},
    {"ENODEV", ENODEV},
    {"EINVAL", EINVAL},
    {"EMFILE", EMFILE},
    {"ENOSPC", ENOSPC},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EADDRINUSE", EADDRINUSE},
    {"EADDRNOTAVAIL", EADDRNOTAVAIL},
    {"ECONNREFUSED", ECONNREFUSED},
    {"ETIMEDOUT", ETIMEDOUT},
    {"EHOSTUNREACH", EHOSTUNREACH},
    {NULL, 0},
};

static const struct name statuses[] = {
    {"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
    {"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
    {"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
    {"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
    {"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
    {"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
    {"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
    {"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
    {"REM_OP_ERR", IBV_WC_REM_OP_ERR},
    {"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
    {"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
    {"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
    {"FATAL_ERR", IBV_WC_FATAL_ERR},
    {"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
    {"GENERAL_ERR", IBV_WC_GENERAL_ERR},
    {NULL, 0},
};

static const struct name events[] = {
    {"ADDR_RESOLVED", RDMA_CM_EVENT_ADDR_RESOLVED},
    {"ADDR_ERROR", RDMA_CM_EVENT_ADDR_ERROR},
    {"ROUTE_RESOLVED", RDMA_CM_EVENT_ROUTE_RESOLVED},
    {"ROUTE_ERROR", RDMA_CM_EVENT_ROUTE_ERROR},
    {"CONNECT_RESPONSE", RDMA_CM_EVENT_CONNECT_RESPONSE},
    {"CONNECT_ERROR", RDMA_CM_EVENT_CONNECT_ERROR},
    {"UNREACHABLE", RDMA_CM_EVENT_UNREACHABLE},
    {"REJECTED", RDMA_CM_EVENT_REJECTED},
    {"ESTABLISHED", RDMA_CM_EVENT_ESTABLISHED},
    {"DISCONNECTED", RDMA_CM_EVENT_DISCONNECTED},
    {"DEVICE_REMOVAL", RDMA_CM_EVENT_DEVICE_REMOVAL},
    {"MULTICAST_JOIN", RDMA_CM_EVENT_MULTICAST_JOIN},
    {"MULTICAST_ERROR", RDMA_CM_EVENT_MULTICAST_ERROR},
    {"ADDR_CHANGE", RDMA_CM_EVENT_ADDR_CHANGE},
    {"TIMEWAIT_EXIT", RDMA_CM_EVENT_TIMEWAIT_EXIT},
    {NULL, 0},
};

static const struct name *find(const struct name *table, const char *text) {
    for (; table->name; table++) {
        if (!strcmp(table->name, text)) return table;
    }
    return NULL;
}

static const struct op *find_op(const char *text) {
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (!strcmp(ops[i].name, text)) return &ops[i];
    }
    return NULL;
}

static const char *value_of(const char *word, const char *key) {
    size_t length = strlen(key);
    return !strncmp(word, key, length) && word[length] == '=' ? word + length + 1 : NULL;
}

static bool parse_number(const char *text, double *number) {
    char *end;
    *number = text ? strtod(text, &end) : 0;
    return text && *text && !*end && *number >= 0;
}

static bool parse_action(const char *word, struct sv_fault *fault) {
    const struct name *name;
    const char *value;
    double ms;
    if ((value = value_of(word, "errno"))) {
        fault->action = SV_ERRNO;
        if (!(name = find(errnos, value))) return false;
        fault->value = name->value;
        return true;
    }
    if ((value = value_of(word, "status"))) {
        fault->action = SV_STATUS;
        if (!(name = find(statuses, value))) return false;
        fault->value = name->value;
        return true;
    }
    if ((value = value_of(word, "event"))) {
        fault->action = SV_EVENT;
        if (!(name = find(events, value))) return false;
        fault->value = name->value;
        return true;
    }
    if ((value = value_of(word, "delay"))) {
        fault->action = SV_DELAY;
        if (!parse_number(value, &ms)) return false;
        fault->value = (int)ms;
        return true;
    }
    if (!(name = find(actions, word))) return false;
    fault->action = (enum sv_action)name->value;
    return true;
}

/* Is the text in SOFTVERBS_ROLE or in the command line, arguments separated by blanks? */
static bool is_this_process(const char *text) {
    char line[65536];
    const char *role = getenv("SOFTVERBS_ROLE");
    if (role && strstr(role, text)) return true;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (n <= 0) return false;
    for (ssize_t i = 0; i < n; i++) {
        if (line[i] == '\0') line[i] = ' ';
    }
    line[n] = '\0';
    return strstr(line, text);
}

/* Mixed as in splitmix64: a small state would make xorshift begin with 0, and each rule hit at
 * once. */
static uint64_t first_state(double seed) {
    uint64_t state = ((uint64_t)seed + 1) * 0x9E3779B97F4A7C15;
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
    state = (state ^ state >> 27) * 0x94D049BB133111EB;
    return (state ^ state >> 31) | 1;
}

/* The words of a rule in their order; false where one is not understood. */
static bool parse_rule(char *text, struct sv_rule *rule, bool *here) {
    char *save = NULL;
    const char *process;
    const struct name *name;
    const struct op *op;
    double seed = 1;
    char *word = strtok_r(text, " \t\r", &save);
    *here = true;
    if (word && (process = value_of(word, "proc"))) {
        *here = is_this_process(process);
        word = strtok_r(NULL, " \t\r", &save);
    }
    if (!word || !(op = find_op(word))) return false;
    rule->op = op->op;
    if (!(word = strtok_r(NULL, " \t\r", &save))) return false;
    if ((name = find(triggers, word))) {
        rule->trigger = (enum sv_trigger)name->value;
        if (!parse_number(strtok_r(NULL, " \t\r", &save), &rule->n)) return false;
        if (!(word = strtok_r(NULL, " \t\r", &save))) return false;
        if (!strcmp(word, "seed")) {
            if (!parse_number(strtok_r(NULL, " \t\r", &save), &seed)) return false;
            if (!(word = strtok_r(NULL, " \t\r", &save))) return false;
        }
    }
    rule->seed = first_state(seed);
    return parse_action(word, &rule->fault) && op->actions & 1u << rule->fault.action &&
           !strtok_r(NULL, " \t\r", &save);
}

/* A script with a mistake would let tests pass for want of faults. */
static _Noreturn void refuse(const char *rule) {
    fprintf(stderr, "softverbs: fault rule not understood: %s\n", rule);
    _Exit(64);
}

static void blank_comments(char *script) {
    for (char *mark = script; (mark = strchr(mark, '#'));) {
        size_t length = strcspn(mark, "\n");
        memset(mark, ' ', length);
    }
}

void sv_rules_parse(struct sv_rules *rules, const char *script) {
    char *copy = strdup(script), *save = NULL;
    struct sv_rule *last = NULL;
    if (!copy) refuse(script);
    blank_comments(copy);
    for (char *line = strtok_r(copy, ";\n", &save); line; line = strtok_r(NULL, ";\n", &save)) {
        char shown[256];
        bool here;
        line += strspn(line, " \t\r");
        if (*line == '\0') continue;
        snprintf(shown, sizeof(shown), "%s", line);
        struct sv_rule *rule = calloc(1, sizeof(*rule));
        if (!rule || !parse_rule(line, rule, &here)) refuse(shown);
        if (!here) {
            free(rule);
            continue;
        }
        if (last)
            SLIST_INSERT_AFTER(last, rule, link);
        else
            SLIST_INSERT_HEAD(rules, rule, link);
        last = rule;
    }
    free(copy);
}

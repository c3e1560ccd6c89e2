/* The devices: made from SOFTVERBS_DEVICES, the same ones for the life of the process. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "softverbs.h"

enum { MAX_DEVICES = 8 };

static struct sv_device devices[MAX_DEVICES];
static int num_devices = -1; /* not looked at yet */

static void init_device(struct sv_device *device, const char *name, int index) {
    *device = (struct sv_device){
        .device = {.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB},
        .attr = {.fw_ver = "softverbs",
                 .node_guid = htobe64(0x0200000000000001ULL + (uint64_t)index),
                 .sys_image_guid = htobe64(0x0200000000000001ULL + (uint64_t)index),
                 .max_mr_size = UINT64_MAX,
                 .page_size_cap = 0xfffff000,
                 .max_qp = SV_MAX_QP,
                 .max_qp_wr = 1 << 16,
                 .max_sge = SV_MAX_SGE,
                 .max_sge_rd = SV_MAX_SGE,
                 .max_cq = 1 << 16,
                 .max_cqe = (1 << 18) - 1,
                 .max_mr = SV_MAX_MR,
                 .max_pd = 1 << 16,
                 .max_qp_rd_atom = 128,
                 .max_res_rd_atom = 128 * (SV_MAX_QP),
                 .max_qp_init_rd_atom = 128,
                 .atomic_cap = IBV_ATOMIC_NONE,
                 .max_pkeys = 1,
                 .local_ca_ack_delay = 15,
                 .phys_port_cnt = 1},
        .max_msg = 8 << 20,
        .link_layer = IBV_LINK_LAYER_ETHERNET,
        .port_state = IBV_PORT_ACTIVE,
    };
    snprintf(device->device.name, sizeof(device->device.name), "%s", name);
    snprintf(device->device.dev_name, sizeof(device->device.dev_name), "uverbs%d", index);
    snprintf(device->device.dev_path, sizeof(device->device.dev_path),
             "/sys/class/infiniband_verbs/uverbs%d", index);
    snprintf(device->device.ibdev_path, sizeof(device->device.ibdev_path),
             "/sys/class/infiniband/%s", name);
}

static bool set_transport(struct sv_device *device, const char *value) {
    if (!strcmp(value, "roce")) return true;
    if (!strcmp(value, "ib")) {
        device->link_layer = IBV_LINK_LAYER_INFINIBAND;
        return true;
    }
    if (strcmp(value, "iwarp")) return false;
    device->device.transport_type = IBV_TRANSPORT_IWARP;
    device->device.node_type = IBV_NODE_RNIC;
    device->attr.max_sge_rd = 1;
    return true;
}

static bool set_number(struct sv_device *device, const char *name, const char *value) {
    const struct {
        const char *name;
        int *field;
        int most;
    } options[] = {
        {"max_qp", &device->attr.max_qp, SV_MAX_QP},
        {"max_mr", &device->attr.max_mr, SV_MAX_MR},
        {"max_cq", &device->attr.max_cq, INT32_MAX},
        {"max_cqe", &device->attr.max_cqe, INT32_MAX},
        {"max_qp_wr", &device->attr.max_qp_wr, 1 << 20},
        {"max_sge", &device->attr.max_sge, SV_MAX_SGE},
        {"max_rd_atomic", &device->attr.max_qp_rd_atom, 254},
        {"max_msg", &device->max_msg, INT32_MAX},
        {"odp", &device->odp, 1},
        {"strict_reads", &device->strict_reads, 1},
    };
    char *end;
    long number = strtol(value, &end, 10);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(name, options[i].name)) continue;
        if (*end || end == value || number < 0 || number > options[i].most) return false;
        *options[i].field = (int)number;
        device->attr.max_qp_init_rd_atom = device->attr.max_qp_rd_atom;
        return true;
    }
    return false;
}

static bool set_option(struct sv_device *device, char *option) {
    char *value = strchr(option, '=');
    if (!value) return false;
    *value++ = '\0';
    if (!strcmp(option, "transport")) return set_transport(device, value);
    if (!strcmp(option, "addr")) {
        return snprintf(device->addrs, sizeof(device->addrs), "%s", value) <
               (int)sizeof(device->addrs);
    }
    if (!strcmp(option, "port") && !strcmp(value, "down")) {
        device->port_state = IBV_PORT_DOWN;
        return true;
    }
    return set_number(device, option, value);
}

/* name[:option=value[,option=value]...][,name...]: what has no '=' before any ':' is a device. */
static void parse(char *spec) {
    char *save = NULL;
    for (char *word = strtok_r(spec, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *option = word;
        char *colon = strchr(word, ':');
        char *equals = strchr(word, '=');
        if (!equals || (colon && colon < equals)) {
            if (num_devices == MAX_DEVICES) goto bad;
            if (colon) *colon = '\0';
            init_device(&devices[num_devices], word, num_devices);
            num_devices++;
            option = colon ? colon + 1 : NULL;
        }
        if (option && (num_devices == 0 || !set_option(&devices[num_devices - 1], option)))
            goto bad;
        continue;
    bad:
        fprintf(stderr, "softverbs: SOFTVERBS_DEVICES not understood at '%s'\n", word);
        _Exit(64);
    }
}

struct sv_device *sv_devices(int *count) {
    if (num_devices < 0) {
        const char *env = getenv("SOFTVERBS_DEVICES");
        char *spec = strdup(env ? env : "softverbs0");
        num_devices = 0;
        if (spec) parse(spec);
        free(spec);
    }
    *count = num_devices;
    return devices;
}

void sv_devices_forget(void) { num_devices = -1; }

static bool serves(const struct sv_device *device, const char *address) {
    size_t length = strlen(address);
    const char *at = device->addrs;
    while (*at) {
        size_t one = strcspn(at, "+");
        if (one == length && !strncmp(at, address, length)) return true;
        at += one + (at[one] == '+');
    }
    return !device->addrs[0];
}

struct sv_device *sv_device_for(const struct sockaddr *addr) {
    char text[INET6_ADDRSTRLEN] = "";
    int count;
    struct sv_device *all = sv_devices(&count);
    const void *raw = addr->sa_family == AF_INET
                          ? (const void *)&((const struct sockaddr_in *)addr)->sin_addr
                          : (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr;
    inet_ntop(addr->sa_family, raw, text, sizeof(text));
    for (int i = 0; i < count; i++) {
        if (serves(&all[i], text)) return &all[i];
    }
    return NULL;
}

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num) {
    int count;
    pthread_mutex_lock(&sv_lock);
    struct sv_device *all = sv_devices(&count);
    struct ibv_device **list = calloc((size_t)count + 1, sizeof(*list));
    for (int i = 0; list && i < count; i++) list[i] = &all[i].device;
    pthread_mutex_unlock(&sv_lock);
    if (num) *num = list ? count : 0;
    return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }

const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

__be64 ibv_get_device_guid(struct ibv_device *device) {
    return ((struct sv_device *)device)->attr.node_guid;
}

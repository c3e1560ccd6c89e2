/* Opened devices: attributes, protection domains and asynchronous events. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>

#include "softverbs.h"

#undef ibv_query_port

enum { MAX_DEVICES_SHARED = 8, COMP_VECTORS = 2 };

struct async_event {
    struct sv_event event;
    struct ibv_async_event async;
};

static LIST_HEAD(, sv_context) contexts;

/* rdma_cm opens each device once and shows that context to all ids. */
static struct {
    struct sv_device *device;
    struct ibv_context *context;
} shared[MAX_DEVICES_SHARED];

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                      size_t size) {
    struct sv_device *device = sv_device(context);
    if (port_num != 1) return EINVAL;
    struct ibv_port_attr port = {
        .state = device->port_state,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = 2,
        .port_cap_flags = IBV_PORT_CM_SUP,
        .max_msg_sz = (uint32_t)device->max_msg,
        .pkey_tbl_len = 1,
        .active_width = 2, /* 4X */
        .active_speed = 32,
        .phys_state = device->port_state == IBV_PORT_ACTIVE ? 5 : 3,
        .link_layer = device->link_layer,
    };
    memset(attr, 0, size);
    memcpy(attr, &port, size < sizeof(port) ? size : sizeof(port));
    return 0;
}

static int query_device_ex(struct ibv_context *context,
                           const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *attr, size_t size) {
    struct ibv_device_attr_ex full = {.phys_port_cnt_ex = 1};
    if (input && input->comp_mask) return EINVAL;
    int rc = ibv_query_device(context, &full.orig_attr);
    if (rc) return rc;
    if (sv_device(context)->odp) {
        full.odp_caps.general_caps = IBV_ODP_SUPPORT;
        full.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_READ;
    }
    memset(attr, 0, size);
    memcpy(attr, &full, size < sizeof(full) ? size : sizeof(full));
    return 0;
}

static struct ibv_context *open_context(struct sv_device *device) {
    if (sv_loop_start()) return NULL;
    struct sv_context *opened = calloc(1, sizeof(*opened));
    if (!opened) return NULL;
    if (sv_event_queue_open(&opened->async)) {
        free(opened);
        return NULL;
    }
    opened->verbs.sz = sizeof(opened->verbs);
    opened->verbs.query_port = query_port;
    opened->verbs.query_device_ex = query_device_ex;
    struct ibv_context *context = &opened->verbs.context;
    context->device = &device->device;
    context->ops.poll_cq = sv_poll_cq;
    context->ops.req_notify_cq = sv_req_notify_cq;
    context->ops.post_send = sv_post_send;
    context->ops.post_recv = sv_post_recv;
    context->cmd_fd = -1;
    context->async_fd = opened->async.fd;
    context->num_comp_vectors = COMP_VECTORS;
    context->abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&context->mutex, NULL);
    LIST_INSERT_HEAD(&contexts, opened, link);
    return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device) {
    pthread_mutex_lock(&sv_lock);
    struct ibv_context *context = NULL;
    if (((struct sv_device *)device)->fatal)
        errno = EIO;
    else
        context = open_context((struct sv_device *)device);
    pthread_mutex_unlock(&sv_lock);
    return context;
}

struct ibv_context *sv_device_cm_context(struct sv_device *device) {
    for (int i = 0; i < MAX_DEVICES_SHARED; i++) {
        if (shared[i].device == device) return shared[i].context;
        if (shared[i].device) continue;
        shared[i].context = open_context(device);
        if (shared[i].context) shared[i].device = device;
        return shared[i].context;
    }
    return NULL;
}

void sv_contexts_forget(void) {
    LIST_INIT(&contexts);
    memset(shared, 0, sizeof(shared));
}

int ibv_close_device(struct ibv_context *context) {
    struct sv_context *opened = sv_context(context);
    pthread_mutex_lock(&sv_lock);
    LIST_REMOVE(opened, link);
    sv_event_queue_close(&opened->async);
    pthread_mutex_unlock(&sv_lock);
    pthread_mutex_destroy(&context->mutex);
    free(opened);
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
    if (sv_device(context)->fatal) return EIO;
    *attr = sv_device(context)->attr;
    return 0;
}

/* For callers built against headers older than struct verbs_context: the fields they know of. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
                   struct _compat_ibv_port_attr *attr) {
    return query_port(context, port_num, (struct ibv_port_attr *)attr,
                      offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* Index 0 is link-local, index 1 the first IPv4 address, mapped as RoCEv2 does. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid) {
    if (port_num != 1 || index < 0 || index > 1) {
        errno = EINVAL;
        return -1;
    }
    memset(gid, 0, sizeof(*gid));
    if (index == 0) {
        gid->global.subnet_prefix = htobe64(0xfe80000000000000ULL);
        gid->global.interface_id = sv_device(context)->attr.node_guid;
        return 0;
    }
    struct ifaddrs *all, *one;
    struct in_addr addr = {.s_addr = htonl(INADDR_LOOPBACK)};
    if (getifaddrs(&all)) return -1;
    for (one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
        if (one->ifa_flags & IFF_LOOPBACK) continue;
        addr = ((struct sockaddr_in *)one->ifa_addr)->sin_addr;
        break;
    }
    freeifaddrs(all);
    gid->raw[10] = gid->raw[11] = 0xff;
    memcpy(gid->raw + 12, &addr, sizeof(addr));
    return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey) {
    (void)context;
    if (port_num != 1 || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(0xffff);
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
    static uint32_t last;
    struct sv_pd *pd = NULL;
    int rc = sv_fault_call(SV_OP_ALLOC_PD);
    if (!rc && sv_device(context)->fatal) rc = EIO;
    if (!rc && !(pd = calloc(1, sizeof(*pd)))) rc = ENOMEM;
    if (rc) {
        errno = rc;
        return NULL;
    }
    pthread_mutex_lock(&sv_lock);
    pd->pd.context = context;
    pd->pd.handle = ++last;
    sv_resource_count(SV_PD, 1);
    pthread_mutex_unlock(&sv_lock);
    return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) {
    struct sv_pd *mine = (struct sv_pd *)pd;
    pthread_mutex_lock(&sv_lock);
    int rc = mine->users ? EBUSY : 0;
    if (!rc) sv_resource_count(SV_PD, -1);
    pthread_mutex_unlock(&sv_lock);
    if (!rc) free(mine);
    return rc;
}

void sv_async_event(struct ibv_context *context, struct ibv_async_event async,
                    struct sv_event_owner *owner) {
    struct async_event *event = calloc(1, sizeof(*event));
    if (!event) return;
    event->event.owner = owner;
    event->async = async;
    sv_event_push(&sv_context(context)->async, &event->event);
}

void sv_device_event(struct sv_device *device, enum ibv_event_type type) {
    struct sv_context *context;
    LIST_FOREACH(context, &contexts, link) {
        if (context->verbs.context.device != &device->device) continue;
        sv_async_event(&context->verbs.context,
                       (struct ibv_async_event){.element.port_num = 1, .event_type = type}, NULL);
    }
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
    struct sv_event *taken = sv_event_take(&sv_context(context)->async);
    if (!taken) return -1;
    *event = container_of(taken, struct async_event, event)->async;
    free(container_of(taken, struct async_event, event));
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event) {
    pthread_mutex_lock(&sv_lock);
    switch (event->event_type) {
        case IBV_EVENT_CQ_ERR:
            sv_event_ack(&((struct sv_cq *)event->element.cq)->events, 1);
            break;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_ACCESS_ERR:
            sv_event_ack(&((struct sv_qp *)event->element.qp)->events, 1);
            break;
        default:
            break; /* of the device or its port: nobody waits */
    }
    pthread_mutex_unlock(&sv_lock);
}

int ibv_fork_init(void) { return 0; }

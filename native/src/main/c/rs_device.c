#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rs_internal.h"

/* From rdma_get_devices, whose contexts are those of the connection ids; kept for the life of the
 * process. */
static struct ibv_context **contexts;
static int context_count;

int rs_open_devices(void) {
    if (contexts) return context_count;
    /* rdma_get_devices works without /dev/infiniband/rdma_cm, connecting does not. */
    struct rdma_event_channel *channel = rs_dl.rdma_create_event_channel();
    if (!channel) return rs_fail("rdma_create_event_channel", errno);
    rs_dl.rdma_destroy_event_channel(channel);
    contexts = rs_dl.rdma_get_devices(&context_count);
    if (!contexts) return rs_fail("rdma_get_devices", errno);
    return context_count;
}

int rs_device_query(int index, struct rs_device *out) {
    if (index < 0 || index >= context_count) return rs_fail("device index", EINVAL);
    return rs_context_query(contexts[index], 0, out);
}

static int query_port(struct ibv_context *context, int port, struct ibv_port_attr *attr) {
    memset(attr, 0,
           sizeof(*attr)); /* the function behind the macro fills an older, shorter struct */
    int error = rs_dl.ibv_query_port(context, (uint8_t)port, (struct _compat_ibv_port_attr *)attr);
    return error ? rs_fail("ibv_query_port", error) : 0;
}

static int query_first_active_port(struct ibv_context *context, int ports,
                                   struct ibv_port_attr *attr) {
    for (int port = 1; port <= ports; port++) {
        int rc = query_port(context, port, attr);
        if (rc) return rc;
        if (attr->state == IBV_PORT_ACTIVE) return 0;
    }
    return query_port(context, 1, attr);
}

/* ibv_query_device_ex is an inline that needs libibverbs at link time: the operation below it is
 * asked directly. */
static bool reads_on_demand(struct ibv_context *context) {
    struct verbs_context *extended = verbs_get_ctx_op(context, query_device_ex);
    struct ibv_device_attr_ex attr = {0};
    if (!extended || extended->query_device_ex(context, NULL, &attr, sizeof(attr))) return false;
    return (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
           (attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ);
}

static enum rs_transport transport_of(const struct ibv_context *context) {
    switch (context->device->transport_type) {
        case IBV_TRANSPORT_IB:
            return RS_TRANSPORT_IB;
        case IBV_TRANSPORT_IWARP:
            return RS_TRANSPORT_IWARP;
        default:
            return RS_TRANSPORT_OTHER;
    }
}

static enum rs_link_layer link_layer_of(const struct ibv_port_attr *port) {
    switch (port->link_layer) {
        case IBV_LINK_LAYER_INFINIBAND:
            return RS_LINK_INFINIBAND;
        case IBV_LINK_LAYER_ETHERNET:
            return RS_LINK_ETHERNET;
        default:
            return RS_LINK_UNSPECIFIED;
    }
}

int rs_context_query(struct ibv_context *context, int port, struct rs_device *out) {
    struct ibv_device_attr attr;
    struct ibv_port_attr port_attr;
    int error = rs_dl.ibv_query_device(context, &attr);
    if (error) return rs_fail("ibv_query_device", error);
    int rc = port ? query_port(context, port, &port_attr)
                  : query_first_active_port(context, attr.phys_port_cnt, &port_attr);
    if (rc) return rc;

    *out = (struct rs_device){
        .max_mr_bytes = attr.max_mr_size > INT64_MAX ? INT64_MAX : (int64_t)attr.max_mr_size,
        .max_message_bytes = port_attr.max_msg_sz,
        .transport = transport_of(context),
        .link_layer = link_layer_of(&port_attr),
        .port_active = port_attr.state == IBV_PORT_ACTIVE,
        .max_qp = attr.max_qp,
        .max_qp_wr = attr.max_qp_wr,
        .max_cqe = attr.max_cqe,
        .max_mr = attr.max_mr,
        .max_sge = attr.max_sge,
        .max_read_depth_out = attr.max_qp_init_rd_atom,
        .max_read_depth_in = attr.max_qp_rd_atom,
        .active_mtu_bytes = 128 << port_attr.active_mtu, /* IBV_MTU_256 is 1 */
        .odp = reads_on_demand(context),
    };
    snprintf(out->name, sizeof(out->name), "%s", context->device->name);
    return 0;
}

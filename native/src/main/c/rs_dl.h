/* The functions of libibverbs and librdmacm that are used, found at run time. */
#ifndef RS_DL_H
#define RS_DL_H

/* rdma_verbs.h must not be included anywhere: its inlines would need both libraries at link time.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* Macros of verbs.h that stand before functions of the same name. */
#undef ibv_reg_mr
#undef ibv_query_port

#define RS_IBV_FUNCTIONS(X)     \
    X(ibv_ack_async_event)      \
    X(ibv_ack_cq_events)        \
    X(ibv_alloc_pd)             \
    X(ibv_create_comp_channel)  \
    X(ibv_create_cq)            \
    X(ibv_dealloc_pd)           \
    X(ibv_dereg_mr)             \
    X(ibv_destroy_comp_channel) \
    X(ibv_destroy_cq)           \
    X(ibv_get_async_event)      \
    X(ibv_get_cq_event)         \
    X(ibv_query_device)         \
    X(ibv_query_port)           \
    X(ibv_reg_mr)

#define RS_RDMA_FUNCTIONS(X)      \
    X(rdma_accept)                \
    X(rdma_ack_cm_event)          \
    X(rdma_bind_addr)             \
    X(rdma_connect)               \
    X(rdma_create_event_channel)  \
    X(rdma_create_id)             \
    X(rdma_create_qp)             \
    X(rdma_destroy_event_channel) \
    X(rdma_destroy_id)            \
    X(rdma_destroy_qp)            \
    X(rdma_disconnect)            \
    X(rdma_get_cm_event)          \
    X(rdma_get_devices)           \
    X(rdma_get_src_port)          \
    X(rdma_listen)                \
    X(rdma_reject)                \
    X(rdma_resolve_addr)          \
    X(rdma_resolve_route)

#define RS_POINTER(name) __typeof__(name) *name;
struct rs_dl {
    RS_IBV_FUNCTIONS(RS_POINTER)
    RS_RDMA_FUNCTIONS(RS_POINTER)
};
#undef RS_POINTER

/* Complete after rs_open_libraries() has returned 0. */
extern struct rs_dl rs_dl;

#endif

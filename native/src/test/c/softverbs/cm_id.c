/* Communication ids: their life, their queue pair, their options. */
#include <stdlib.h>
#include <unistd.h>

#include "cm.h"

static LIST_HEAD(, sv_id) ids;

static int fail(int error) {
    errno = error;
    return -1;
}

struct sv_id *sv_id_create(struct rdma_event_channel *channel, void *context,
                           enum rdma_port_space ps) {
    struct sv_id *id = calloc(1, sizeof(*id));
    if (!id) return NULL;
    id->id.channel = channel;
    id->id.context = context;
    id->id.ps = ps;
    id->id.qp_type = IBV_QPT_RC;
    id->bound_fd = -1;
    id->timer.fire = sv_cm_timer;
    id->hold.fire = sv_cm_release_events;
    TAILQ_INIT(&id->held);
    LIST_INIT(&id->children);
    LIST_INSERT_HEAD(&ids, id, all);
    sv_resource_count(SV_CM_ID, 1);
    return id;
}

static void release_listener(struct sv_source *source) {
    free(container_of(source, struct sv_listener, source));
}

void sv_id_destroy(struct sv_id *id) {
    sv_timer_cancel(&id->timer);
    if (id->listener) sv_source_close(&id->listener->source);
    if (id->bound_fd >= 0) close(id->bound_fd);
    while (!LIST_EMPTY(&id->children)) sv_id_destroy(LIST_FIRST(&id->children));
    if (id->link) sv_link_close(id->link);
    if (id->parent) LIST_REMOVE(id, sibling);
    LIST_REMOVE(id, all);
    sv_resource_count(SV_CM_ID, -1);
    sv_cm_forget_events(id);
    sv_event_wait_acked(&id->events);
    free(id);
}

void sv_ids_device_removed(const struct sv_device *device) {
    struct sv_id *id;
    LIST_FOREACH(id, &ids, all) {
        if (id->id.verbs && sv_device(id->id.verbs) == device)
            sv_cm_event(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
    }
}

void sv_ids_forget(void) { LIST_INIT(&ids); }

int sv_id_attach(struct sv_id *id, const struct sockaddr *addr) {
    struct sv_device *device = sv_device_for(addr);
    struct ibv_context *context = device ? sv_device_cm_context(device) : NULL;
    if (!context) return ENODEV;
    id->id.verbs = context;
    id->id.port_num = 1;
    return 0;
}

/* A delay holds back the events of the id from now on; what else there is, the caller does. */
struct sv_fault sv_id_fault(struct sv_id *id, enum sv_op op) {
    struct sv_fault fault = sv_fault_hit(op);
    if (fault.action == SV_DELAY) sv_cm_hold_events(id, fault.value);
    return fault;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space ps) {
    if (!channel || ps != RDMA_PS_TCP) return fail(EINVAL); /* no synchronous mode, no datagrams */
    pthread_mutex_lock(&sv_lock);
    struct sv_id *created = sv_id_create(channel, context, ps);
    pthread_mutex_unlock(&sv_lock);
    if (!created) return fail(ENOMEM);
    *id = &created->id;
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id) {
    struct ibv_pd *pd = sv_id(id)->default_pd;
    pthread_mutex_lock(&sv_lock);
    sv_id_destroy(sv_id(id));
    pthread_mutex_unlock(&sv_lock);
    if (pd) ibv_dealloc_pd(pd);
    return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog) {
    struct sv_id *mine = sv_id(id);
    struct sockaddr_in any = {.sin_family = AF_INET};
    (void)backlog; /* sockets are cheap: the most the kernel gives */
    if (mine->state == SV_ID_IDLE && rdma_bind_addr(id, (struct sockaddr *)&any)) return -1;
    int rc = sv_fault_call(SV_OP_LISTEN);
    pthread_mutex_lock(&sv_lock);
    if (!rc && mine->state != SV_ID_BOUND) rc = EINVAL;
    if (!rc && listen(mine->bound_fd, SOMAXCONN)) rc = errno;
    if (rc) goto out;
    rc = ENOMEM;
    if (!(mine->listener = calloc(1, sizeof(*mine->listener)))) goto out;
    mine->listener->id = mine;
    mine->listener->source = (struct sv_source){
        .fd = mine->bound_fd, .ready = sv_cm_on_request_socket, .release = release_listener};
    if ((rc = sv_source_add(&mine->listener->source))) {
        free(mine->listener);
        mine->listener = NULL;
        goto out;
    }
    mine->bound_fd = -1;
    mine->state = SV_ID_LISTENING;
out:
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init) {
    struct sv_id *mine = sv_id(id);
    if (!id->verbs || id->qp) return fail(EINVAL);
    if (!pd && !mine->default_pd && !(mine->default_pd = ibv_alloc_pd(id->verbs))) return -1;
    if (!pd) pd = mine->default_pd;
    if (pd->context != id->verbs) return fail(EINVAL);
    struct ibv_qp *qp = ibv_create_qp(pd, init);
    if (!qp) return -1;
    pthread_mutex_lock(&sv_lock);
    sv_qp_set_state((struct sv_qp *)qp, IBV_QPS_INIT);
    pthread_mutex_unlock(&sv_lock);
    id->qp = qp;
    id->pd = pd;
    id->send_cq = init->send_cq;
    id->recv_cq = init->recv_cq;
    return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id) {
    if (id->qp) ibv_destroy_qp(id->qp);
    id->qp = NULL;
}

/* As the real one, it waits until the events already given out are acked. */
int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel) {
    struct sv_id *mine = sv_id(id);
    if (!channel) return fail(EINVAL);
    pthread_mutex_lock(&sv_lock);
    sv_event_move(sv_id_events(mine), &((struct sv_channel *)channel)->events, &mine->events);
    id->channel = channel;
    sv_event_wait_acked(&mine->events);
    pthread_mutex_unlock(&sv_lock);
    return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen) {
    (void)id;
    if (!optval) return fail(EINVAL);
    if (level != RDMA_OPTION_ID) return fail(ENOSYS);
    switch (optname) {
        case RDMA_OPTION_ID_TOS:
        case RDMA_OPTION_ID_ACK_TIMEOUT:
            return optlen == sizeof(uint8_t) ? 0 : fail(EINVAL);
        case RDMA_OPTION_ID_REUSEADDR:
        case RDMA_OPTION_ID_AFONLY:
            return optlen == sizeof(int) ? 0 : fail(EINVAL);
        default:
            return fail(ENOSYS);
    }
}

struct ibv_context **rdma_get_devices(int *num_devices) {
    int count;
    pthread_mutex_lock(&sv_lock);
    struct sv_device *devices = sv_devices(&count);
    struct ibv_context **list = count ? calloc((size_t)count + 1, sizeof(*list)) : NULL;
    for (int i = 0; list && i < count; i++) {
        if ((list[i] = sv_device_cm_context(&devices[i]))) continue;
        free(list);
        list = NULL;
    }
    pthread_mutex_unlock(&sv_lock);
    if (num_devices) *num_devices = list ? count : 0;
    if (!count) errno = ENODEV;
    return list;
}

void rdma_free_devices(struct ibv_context **list) { free(list); }

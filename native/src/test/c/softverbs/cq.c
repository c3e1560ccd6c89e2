/* Completion queues and their channels. */
#include <stdlib.h>

#include "softverbs.h"

struct comp_channel {
    struct ibv_comp_channel channel;
    struct sv_event_queue events;
};

struct comp_event {
    struct sv_event event;
    struct ibv_cq *cq;
};

static struct comp_channel *channel_of(const struct ibv_cq *cq) {
    return (struct comp_channel *)cq->channel;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context) {
    struct comp_channel *channel = calloc(1, sizeof(*channel));
    if (!channel) return NULL;
    int rc = sv_event_queue_open(&channel->events);
    if (rc) {
        free(channel);
        errno = rc;
        return NULL;
    }
    channel->channel.context = context;
    channel->channel.fd = channel->events.fd;
    return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel) {
    struct comp_channel *mine = (struct comp_channel *)channel;
    pthread_mutex_lock(&sv_lock);
    int rc = channel->refcnt ? EBUSY : 0;
    if (!rc) sv_event_queue_close(&mine->events);
    pthread_mutex_unlock(&sv_lock);
    if (!rc) free(mine);
    return rc;
}

/* Runs in the loop: the queue pairs cannot be moved to ERR from within a push. */
static void handle_overrun(struct sv_task *task) {
    struct sv_cq *cq = container_of(task, struct sv_cq, overrun_task);
    struct ibv_async_event async = {.element.cq = &cq->cq, .event_type = IBV_EVENT_CQ_ERR};
    struct sv_qp *qp;
    sv_async_event(cq->cq.context, async, &cq->events);
    LIST_FOREACH(qp, &sv_qps, all) {
        if (qp->qp.send_cq == &cq->cq || qp->qp.recv_cq == &cq->cq) sv_qp_error(qp);
    }
}

static int check_cq(struct ibv_context *context, int cqe, int comp_vector) {
    struct sv_device *device = sv_device(context);
    if (device->fatal) return EIO;
    if (cqe < 1 || cqe > device->attr.max_cqe) return EINVAL;
    if (comp_vector < 0 || comp_vector >= context->num_comp_vectors) return EINVAL;
    return device->num_cq >= device->attr.max_cq ? ENOMEM : 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector) {
    struct sv_cq *cq = NULL;
    int rc = sv_fault_call(SV_OP_CREATE_CQ);
    pthread_mutex_lock(&sv_lock);
    if (!rc) rc = check_cq(context, cqe, comp_vector);
    if (rc) goto fail;
    rc = ENOMEM;
    if (!(cq = calloc(1, sizeof(*cq)))) goto fail;
    if (!(cq->ring = calloc((size_t)cqe, sizeof(*cq->ring)))) goto fail;
    cq->cq = (struct ibv_cq){
        .context = context, .channel = channel, .cq_context = cq_context, .cqe = cqe};
    cq->overrun_task.run = handle_overrun;
    pthread_mutex_init(&cq->cq.mutex, NULL);
    pthread_cond_init(&cq->cq.cond, NULL);
    if (channel) channel->refcnt++;
    sv_device(context)->num_cq++;
    sv_resource_count(SV_CQ, 1);
    pthread_mutex_unlock(&sv_lock);
    return &cq->cq;
fail:
    pthread_mutex_unlock(&sv_lock);
    free(cq);
    errno = rc;
    return NULL;
}

int ibv_destroy_cq(struct ibv_cq *cq) {
    struct sv_cq *mine = (struct sv_cq *)cq;
    pthread_mutex_lock(&sv_lock);
    if (mine->users) {
        pthread_mutex_unlock(&sv_lock);
        return EBUSY;
    }
    sv_task_cancel(&mine->overrun_task);
    sv_event_purge(&sv_context(cq->context)->async, &mine->events);
    if (cq->channel) {
        sv_event_purge(&channel_of(cq)->events, &mine->events);
        cq->channel->refcnt--;
    }
    sv_event_wait_acked(&mine->events);
    sv_device(cq->context)->num_cq--;
    sv_resource_count(SV_CQ, -1);
    pthread_mutex_unlock(&sv_lock);
    pthread_mutex_destroy(&cq->mutex);
    pthread_cond_destroy(&cq->cond);
    free(mine->ring);
    free(mine);
    return 0;
}

static void notify(struct sv_cq *cq) {
    struct comp_event *event = calloc(1, sizeof(*event));
    cq->armed = SV_UNARMED;
    if (!event) return;
    event->event.owner = &cq->events;
    event->cq = &cq->cq;
    sv_event_push(&channel_of(&cq->cq)->events, &event->event);
}

void sv_cq_push(struct sv_cq *cq, const struct sv_cqe *entry, bool solicited) {
    if (cq->overrun) return;
    if (cq->count == (uint32_t)cq->cq.cqe) {
        cq->overrun = true;
        sv_task_queue(&cq->overrun_task);
        return;
    }
    cq->ring[(cq->head + cq->count++) % (uint32_t)cq->cq.cqe] = *entry;
    bool heard = cq->armed == SV_ARMED || (cq->armed == SV_ARMED_SOLICITED && solicited);
    if (heard && cq->cq.channel) notify(cq);
}

/* Completions of a destroyed queue pair stay, as with rxe; only the way back to it is cut. */
void sv_cq_forget_qp(struct sv_cq *cq, const struct sv_qp *qp) {
    for (uint32_t i = 0; i < cq->count; i++) {
        struct sv_cqe *entry = &cq->ring[(cq->head + i) % (uint32_t)cq->cq.cqe];
        if (entry->qp == qp) entry->qp = NULL;
    }
}

int sv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc) {
    struct sv_cq *mine = (struct sv_cq *)cq;
    int n = 0;
    int rc = sv_fault_call(SV_OP_POLL);
    if (rc) return -rc;
    pthread_mutex_lock(&sv_lock);
    for (; n < num_entries && mine->count; n++, mine->count--) {
        struct sv_cqe *entry = &mine->ring[mine->head];
        wc[n] = entry->wc;
        if (entry->qp) entry->qp->sq.freed = entry->sq_freed;
        mine->head = (mine->head + 1) % (uint32_t)cq->cqe;
    }
    pthread_mutex_unlock(&sv_lock);
    return n;
}

int sv_req_notify_cq(struct ibv_cq *cq, int solicited_only) {
    struct sv_cq *mine = (struct sv_cq *)cq;
    pthread_mutex_lock(&sv_lock);
    if (!solicited_only)
        mine->armed = SV_ARMED;
    else if (mine->armed == SV_UNARMED)
        mine->armed = SV_ARMED_SOLICITED;
    pthread_mutex_unlock(&sv_lock);
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context) {
    struct sv_event *taken = sv_event_take(&((struct comp_channel *)channel)->events);
    if (!taken) return -1;
    struct comp_event *event = container_of(taken, struct comp_event, event);
    *cq = event->cq;
    *cq_context = event->cq->cq_context;
    free(event);
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents) {
    pthread_mutex_lock(&sv_lock);
    sv_event_ack(&((struct sv_cq *)cq)->events, nevents);
    pthread_mutex_unlock(&sv_lock);
}

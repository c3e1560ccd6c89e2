/* Event channels, and how connection events get there. */
#include <stdlib.h>

#include "cm.h"

struct rdma_event_channel *rdma_create_event_channel(void) {
    struct sv_channel *channel = NULL;
    int count, rc;
    pthread_mutex_lock(&sv_lock);
    sv_devices(&count);
    rc = count ? sv_loop_start() : ENODEV;
    pthread_mutex_unlock(&sv_lock);
    if (rc) goto fail;
    rc = ENOMEM;
    if (!(channel = calloc(1, sizeof(*channel)))) goto fail;
    if ((rc = sv_event_queue_open(&channel->events))) goto fail;
    channel->channel.fd = channel->events.fd;
    return &channel->channel;
fail:
    free(channel);
    errno = rc;
    return NULL;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel) {
    struct sv_channel *mine = (struct sv_channel *)channel;
    pthread_mutex_lock(&sv_lock);
    sv_event_queue_close(&mine->events);
    pthread_mutex_unlock(&sv_lock);
    free(mine);
}

void sv_cm_hold_events(struct sv_id *id, int ms) { sv_timer_set(&id->hold, (uint64_t)ms); }

void sv_cm_release_events(struct sv_timer *timer) {
    struct sv_id *id = container_of(timer, struct sv_id, hold);
    struct sv_event *event;
    while ((event = TAILQ_FIRST(&id->held))) {
        TAILQ_REMOVE(&id->held, event, link);
        sv_event_push(sv_id_events(id), event);
    }
}

void sv_cm_forget_events(struct sv_id *id) {
    struct sv_event *event;
    sv_timer_cancel(&id->hold);
    while ((event = TAILQ_FIRST(&id->held))) {
        TAILQ_REMOVE(&id->held, event, link);
        free(event);
    }
    sv_event_purge(sv_id_events(id), &id->events);
}

/* The id whose queue and acks it is may be another than the one it tells of: a request's listener.
 */
static void post(struct sv_id *owner, struct sv_cm_event *event) {
    struct sv_fault fault = sv_fault_hit(SV_OP_CM_EVENT);
    event->event.owner = &owner->events;
    if (fault.action == SV_DROP) {
        free(event);
        return;
    }
    if (fault.action == SV_EVENT && event->cm.event != RDMA_CM_EVENT_CONNECT_REQUEST)
        event->cm.event = (enum rdma_cm_event_type)fault.value;
    if (fault.action == SV_DELAY) sv_cm_hold_events(owner, fault.value);
    if (owner->hold.armed)
        TAILQ_INSERT_TAIL(&owner->held, &event->event, link);
    else
        sv_event_push(sv_id_events(owner), &event->event);
}

static struct sv_cm_event *new_event(struct sv_id *id, enum rdma_cm_event_type type, int status) {
    struct sv_cm_event *event = calloc(1, sizeof(*event));
    if (!event) return NULL;
    event->cm.id = &id->id;
    event->cm.event = type;
    event->cm.status = status;
    return event;
}

/* What the sender calls its initiator depth is the receiver's responder resources. */
static void set_param(struct sv_cm_event *event, const struct sv_cm_msg *msg, uint32_t padded_to,
                      bool iwarp) {
    uint32_t length = iwarp ? msg->private_len : padded_to;
    memcpy(event->private_data, msg->private_data, msg->private_len);
    event->cm.param.conn = (struct rdma_conn_param){
        .private_data = length ? event->private_data : NULL,
        .private_data_len = (uint8_t)length,
        .responder_resources = msg->initiator_depth,
        .initiator_depth = msg->responder_resources,
        .flow_control = 1,
        .retry_count = msg->retry_count,
        .rnr_retry_count = msg->rnr_retry_count,
        .qp_num = msg->qp_num,
    };
}

void sv_cm_event_with(struct sv_id *id, enum rdma_cm_event_type type, int status,
                      const struct sv_cm_msg *msg, uint32_t padded_to) {
    struct sv_cm_event *event = new_event(id, type, status);
    if (!event) return;
    if (msg) set_param(event, msg, padded_to, sv_is_iwarp(id->id.verbs));
    post(id, event);
}

void sv_cm_event(struct sv_id *id, enum rdma_cm_event_type type, int status) {
    sv_cm_event_with(id, type, status, NULL, 0);
}

/* From here on the child is the user's. */
static void child_taken(struct sv_event *taken) {
    struct sv_id *child = sv_id(container_of(taken, struct sv_cm_event, event)->cm.id);
    LIST_REMOVE(child, sibling);
    child->parent = NULL;
}

void sv_cm_connect_request(struct sv_id *listener, struct sv_id *child,
                           const struct sv_cm_msg *msg) {
    struct sv_cm_event *event = new_event(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
    if (!event) return;
    event->cm.listen_id = &listener->id;
    event->event.on_taken = child_taken;
    set_param(event, msg, SV_CONNECT_PRIVATE, sv_is_iwarp(child->id.verbs));
    post(listener, event);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event) {
    if (!event) {
        errno = EINVAL;
        return -1;
    }
    struct sv_event *taken = sv_event_take(&((struct sv_channel *)channel)->events);
    if (!taken) return -1;
    *event = &container_of(taken, struct sv_cm_event, event)->cm;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event) {
    if (!event) {
        errno = EINVAL;
        return -1;
    }
    struct sv_cm_event *mine = container_of(event, struct sv_cm_event, cm);
    pthread_mutex_lock(&sv_lock);
    sv_event_ack(mine->event.owner, 1);
    pthread_mutex_unlock(&sv_lock);
    free(mine);
    return 0;
}

/* Queues of events behind a semaphore eventfd: poll(2) and O_NONBLOCK work as on the real fds. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "softverbs.h"

int sv_event_queue_open(struct sv_event_queue *queue) {
    TAILQ_INIT(&queue->events);
    queue->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    return queue->fd < 0 ? errno : 0;
}

void sv_event_queue_close(struct sv_event_queue *queue) {
    struct sv_event *event;
    while ((event = TAILQ_FIRST(&queue->events))) {
        TAILQ_REMOVE(&queue->events, event, link);
        free(event);
    }
    close(queue->fd);
}

void sv_event_push(struct sv_event_queue *queue, struct sv_event *event) {
    TAILQ_INSERT_TAIL(&queue->events, event, link);
    eventfd_write(queue->fd, 1);
}

struct sv_event *sv_event_take(struct sv_event_queue *queue) {
    for (;;) {
        uint64_t one;
        if (read(queue->fd, &one, sizeof(one)) != sizeof(one)) return NULL;
        pthread_mutex_lock(&sv_lock);
        struct sv_event *event = TAILQ_FIRST(&queue->events);
        if (event) {
            TAILQ_REMOVE(&queue->events, event, link);
            if (event->owner) event->owner->delivered++;
            if (event->on_taken) event->on_taken(event);
        }
        pthread_mutex_unlock(&sv_lock);
        if (event) return event; /* else it was purged between read and lock */
    }
}

/* Takes an event off the queue together with its count on the eventfd, unless a reader has that. */
static void unlink_event(struct sv_event_queue *queue, struct sv_event *event) {
    uint64_t one;
    struct iovec iov = {.iov_base = &one, .iov_len = sizeof(one)};
    TAILQ_REMOVE(&queue->events, event, link);
    if (preadv2(queue->fd, &iov, 1, -1, RWF_NOWAIT) < 0) return;
}

void sv_event_purge(struct sv_event_queue *queue, const struct sv_event_owner *owner) {
    struct sv_event *event = TAILQ_FIRST(&queue->events);
    while (event) {
        struct sv_event *next = TAILQ_NEXT(event, link);
        if (event->owner == owner) {
            unlink_event(queue, event);
            free(event);
        }
        event = next;
    }
}

void sv_event_move(struct sv_event_queue *from, struct sv_event_queue *to,
                   const struct sv_event_owner *owner) {
    struct sv_event *event = TAILQ_FIRST(&from->events);
    while (event) {
        struct sv_event *next = TAILQ_NEXT(event, link);
        if (event->owner == owner) {
            unlink_event(from, event);
            sv_event_push(to, event);
        }
        event = next;
    }
}

void sv_event_ack(struct sv_event_owner *owner, uint32_t count) {
    owner->acked += count;
    pthread_cond_broadcast(&sv_changed);
}

void sv_event_wait_acked(const struct sv_event_owner *owner) {
    while (owner->acked != owner->delivered) pthread_cond_wait(&sv_changed, &sv_lock);
}

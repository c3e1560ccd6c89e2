/* The socket of a connection: messages in order, descriptors with them, and word of the peer's
 * death. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softverbs.h"

union control {
    char buffer[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static void take_table(struct sv_link *link, struct msghdr *header) {
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    int fd;
    if (!control || control->cmsg_type != SCM_RIGHTS) return;
    memcpy(&fd, CMSG_DATA(control), sizeof(fd));
    if (!link->peer_table) link->peer_table = sv_table_map_peer(fd);
    close(fd);
}

/* One message; false at the end of the connection or when there is none now. */
static bool receive(struct sv_link *link, struct sv_msg *msg, bool *ended) {
    union control control;
    struct iovec iov = {.iov_base = msg, .iov_len = sizeof(*msg)};
    struct msghdr header = {.msg_iov = &iov,
                            .msg_iovlen = 1,
                            .msg_control = control.buffer,
                            .msg_controllen = sizeof(control.buffer)};
    ssize_t n;
    do {
        n = recvmsg(link->source.fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    *ended = n == 0 || (n < 0 && errno != EAGAIN);
    if (n > 0) take_table(link, &header);
    return n == sizeof(*msg);
}

static void ready(struct sv_source *source) {
    struct sv_link *link = container_of(source, struct sv_link, source);
    struct sv_msg msg;
    bool ended = false;
    while (source->fd >= 0 && receive(link, &msg, &ended)) {
        if (msg.type >= SV_SEND)
            sv_send_message(link, &msg);
        else
            link->on_message(link, &msg);
    }
    if (source->fd < 0 || !ended) return;
    sv_source_mute(source);
    link->peer_left = true;
    if (link->qp) sv_send_link_lost(link->qp);
    link->on_close(link);
}

static void release(struct sv_source *source) {
    struct sv_link *link = container_of(source, struct sv_link, source);
    sv_table_unmap_peer(link->peer_table);
    free(link);
}

/* Takes over the connected socket; on failure it is closed. */
struct sv_link *sv_link_open(int fd, void *owner,
                             void (*on_message)(struct sv_link *, const struct sv_msg *),
                             void (*on_close)(struct sv_link *)) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct sv_link *link = calloc(1, sizeof(*link));
    if (!link) goto fail;
    link->source = (struct sv_source){.fd = fd, .ready = ready, .release = release};
    link->owner = owner;
    link->on_message = on_message;
    link->on_close = on_close;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) goto fail;
    link->peer_pid = peer.pid;
    if (sv_source_add(&link->source)) goto fail;
    return link;
fail:
    close(fd);
    free(link);
    return NULL;
}

void sv_link_close(struct sv_link *link) {
    while (link->qp && link->qp->busy) pthread_cond_wait(&sv_changed, &sv_lock);
    if (link->qp) link->qp->link = NULL;
    sv_source_close(&link->source);
}

/* The first message either way carries the sender's table. */
int sv_link_send(struct sv_link *link, const struct sv_msg *msg) {
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)msg, .iov_len = sizeof(*msg)};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
    if (msg->type == SV_REQ || msg->type == SV_REP) {
        int fd = sv_table_fd();
        header.msg_control = control.buffer;
        header.msg_controllen = sizeof(control.buffer);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    }
    ssize_t n = sendmsg(link->source.fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n == sizeof(*msg) ? 0 : errno;
}

/*
 * A process closes its sockets before its pid can be given to another: as long as the peer's end is
 * open, its pid is its own.
 */
bool sv_link_peer_alive(const struct sv_link *link) {
    struct pollfd closed = {.fd = link->source.fd, .events = POLLRDHUP};
    return poll(&closed, 1, 0) == 0;
}

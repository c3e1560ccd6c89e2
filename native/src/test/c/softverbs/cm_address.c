/* Addresses: which are local, who listens on which, and the first steps of an active id. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cm.h"

enum { FIRST_PORT = 32768, LAST_PORT = 60999 };

static int fail(int error) {
    errno = error;
    return -1;
}

socklen_t sv_addr_size(const struct sockaddr *addr) {
    if (addr->sa_family == AF_INET) return sizeof(struct sockaddr_in);
    return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

static __be16 *port_of(struct sockaddr *addr) {
    return addr->sa_family == AF_INET ? &((struct sockaddr_in *)addr)->sin_port
                                      : &((struct sockaddr_in6 *)addr)->sin6_port;
}

static bool is_any(const struct sockaddr *addr) {
    if (addr->sa_family == AF_INET)
        return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == INADDR_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* The kernel lets a socket be bound to local addresses only, and knows the network namespace. */
static bool is_local(const struct sockaddr *addr) {
    struct sockaddr_storage copy = {0};
    int fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    memcpy(&copy, addr, sv_addr_size(addr));
    *port_of((struct sockaddr *)&copy) = 0;
    bool local = bind(fd, (struct sockaddr *)&copy, sv_addr_size(addr)) == 0;
    close(fd);
    return local;
}

/* The source address the routing table gives for the destination. */
static bool route_source(const struct sockaddr *dst, struct sockaddr_storage *src) {
    socklen_t size = sizeof(*src);
    int fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool found = connect(fd, dst, sv_addr_size(dst)) == 0 &&
                 getsockname(fd, (struct sockaddr *)src, &size) == 0;
    close(fd);
    return found;
}

/* A listener's name in the abstract namespace: it vanishes with its process, and is one per netns.
 */
static socklen_t socket_name(const char *ip, unsigned int port, struct sockaddr_un *name) {
    const char *fabric = getenv("SOFTVERBS_FABRIC");
    char uid[16];
    snprintf(uid, sizeof(uid), "%u", (unsigned int)getuid());
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "softverbs/%.32s/%s/%u",
                     fabric ? fabric : uid, ip, port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static const char *ip_text(const struct sockaddr *addr, char text[INET6_ADDRSTRLEN]) {
    const void *raw = addr->sa_family == AF_INET
                          ? (const void *)&((const struct sockaddr_in *)addr)->sin_addr
                          : (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr;
    return inet_ntop(addr->sa_family, raw, text, INET6_ADDRSTRLEN);
}

/* A socket that holds the address for its id; a port of 0 becomes a free one. */
static int hold_address(struct sockaddr *addr) {
    char ip[INET6_ADDRSTRLEN];
    struct sockaddr_un name;
    bool choose = *port_of(addr) == 0;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    ip_text(addr, ip);
    do {
        if (choose)
            *port_of(addr) =
                htons((uint16_t)(FIRST_PORT + sv_random() % (LAST_PORT - FIRST_PORT + 1)));
        socklen_t size = socket_name(ip, ntohs(*port_of(addr)), &name);
        if (bind(fd, (struct sockaddr *)&name, size) == 0) return fd;
    } while (choose && errno == EADDRINUSE);
    close(fd);
    return -1;
}

int sv_connect_socket(const struct sockaddr *addr) {
    char ip[INET6_ADDRSTRLEN];
    const char *names[] = {ip_text(addr, ip), addr->sa_family == AF_INET ? "0.0.0.0" : "::", "::"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sockaddr_un name;
        socklen_t size = socket_name(names[i], ntohs(*port_of((struct sockaddr *)addr)), &name);
        if (connect(fd, (struct sockaddr *)&name, size) == 0) return fd;
    }
    close(fd);
    return -1;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr) {
    struct sv_id *mine = sv_id(id);
    int rc = sv_fault_call(SV_OP_BIND_ADDR);
    if (rc) return fail(rc);
    if (!sv_addr_size(addr)) return fail(EAFNOSUPPORT);
    if (mine->state != SV_ID_IDLE) return fail(EINVAL);
    if (!is_any(addr) && !is_local(addr)) return fail(EADDRNOTAVAIL);
    pthread_mutex_lock(&sv_lock);
    if (!is_any(addr)) rc = sv_id_attach(mine, addr);
    if (!rc) {
        memcpy(&id->route.addr.src_storage, addr, sv_addr_size(addr));
        mine->bound_fd = hold_address(&id->route.addr.src_addr);
        if (mine->bound_fd < 0) rc = errno;
    }
    if (!rc) mine->state = SV_ID_BOUND;
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

/* errno, or 0 with the source address in place. */
static int choose_source(struct sv_id *id, const struct sockaddr *src, const struct sockaddr *dst) {
    struct sockaddr *own = &id->id.route.addr.src_addr;
    bool bound = id->state == SV_ID_BOUND;
    if (src && !bound && !is_any(src)) {
        if (!is_local(src)) return EADDRNOTAVAIL;
        memcpy(own, src, sv_addr_size(src));
    } else if (!bound || is_any(own)) {
        __be16 port = bound ? *port_of(own) : 0;
        if (!route_source(dst, &id->id.route.addr.src_storage)) return ENETUNREACH;
        *port_of(own) = port;
    }
    if (*port_of(own) == 0)
        *port_of(own) = htons((uint16_t)(FIRST_PORT + sv_random() % (LAST_PORT - FIRST_PORT + 1)));
    return 0;
}

static int resolve_addr(struct sv_id *id, const struct sockaddr *src, const struct sockaddr *dst,
                        int timeout_ms) {
    if (id->state != SV_ID_IDLE && id->state != SV_ID_BOUND) return EINVAL;
    struct sv_fault fault = sv_id_fault(id, SV_OP_RESOLVE_ADDR);
    if (fault.action == SV_ERRNO) return fault.value;
    int rc = choose_source(id, src, dst);
    if (rc) return rc;
    rc = sv_id_attach(id, &id->id.route.addr.src_addr);
    if (rc && src) return rc;
    memcpy(&id->id.route.addr.dst_storage, dst, sv_addr_size(dst));
    id->state = SV_ID_RESOLVING;
    if (fault.action == SV_DROP) return 0;
    if (rc || fault.action == SV_ERROR) { /* rc: the route leads to no device */
        sv_cm_event(id, RDMA_CM_EVENT_ADDR_ERROR, rc ? -rc : -ETIMEDOUT);
    } else if (!is_local(dst)) { /* nobody answers for it */
        sv_timer_set(&id->timer, (uint64_t)timeout_ms);
    } else {
        id->state = SV_ID_ADDR_RESOLVED;
        sv_cm_event(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    }
    return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
                      int timeout_ms) {
    if (!dst || !sv_addr_size(dst)) return fail(EAFNOSUPPORT);
    if (timeout_ms < 0) return fail(EINVAL);
    pthread_mutex_lock(&sv_lock);
    int rc = resolve_addr(sv_id(id), src, dst, timeout_ms);
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms) {
    struct sv_id *mine = sv_id(id);
    struct sv_fault fault = {.action = SV_NONE};
    int rc = 0;
    (void)timeout_ms; /* the answer is at hand */
    pthread_mutex_lock(&sv_lock);
    if (mine->state != SV_ID_ADDR_RESOLVED)
        rc = EINVAL;
    else
        fault = sv_id_fault(mine, SV_OP_RESOLVE_ROUTE);
    if (fault.action == SV_ERRNO) rc = fault.value;
    if (!rc && fault.action == SV_ERROR) {
        sv_cm_event(mine, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
    } else if (!rc && fault.action != SV_DROP) {
        mine->state = SV_ID_ROUTE_RESOLVED;
        sv_cm_event(mine, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    }
    pthread_mutex_unlock(&sv_lock);
    return rc ? fail(rc) : 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id) {
    struct sockaddr *addr = rdma_get_local_addr(id);
    return sv_addr_size(addr) ? *port_of(addr) : 0;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id) {
    struct sockaddr *addr = rdma_get_peer_addr(id);
    return sv_addr_size(addr) ? *port_of(addr) : 0;
}

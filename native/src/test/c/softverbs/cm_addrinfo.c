/* rdma_getaddrinfo: getaddrinfo, in the other struct. One result. */
#include <netdb.h>
#include <stdlib.h>

#include "cm.h"

static struct sockaddr *copy_address(const struct sockaddr *addr, socklen_t size) {
    struct sockaddr *copy = malloc(size);
    if (copy) memcpy(copy, addr, size);
    return copy;
}

/* A passive side's name is its own, an active side's the peer's. */
static int set_addresses(struct rdma_addrinfo *info, const struct addrinfo *found,
                         const struct rdma_addrinfo *hints) {
    if (info->ai_flags & RAI_PASSIVE) {
        info->ai_src_addr = copy_address(found->ai_addr, found->ai_addrlen);
        info->ai_src_len = found->ai_addrlen;
        return info->ai_src_addr ? 0 : ENOMEM;
    }
    info->ai_dst_addr = copy_address(found->ai_addr, found->ai_addrlen);
    info->ai_dst_len = found->ai_addrlen;
    if (!info->ai_dst_addr) return ENOMEM;
    if (!hints || !hints->ai_src_len) return 0;
    info->ai_src_addr = copy_address(hints->ai_src_addr, hints->ai_src_len);
    info->ai_src_len = hints->ai_src_len;
    return info->ai_src_addr ? 0 : ENOMEM;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                     struct rdma_addrinfo **res) {
    int flags = hints ? hints->ai_flags : 0;
    struct addrinfo *found,
        want = {.ai_socktype = SOCK_STREAM,
                .ai_family = hints && (flags & RAI_FAMILY) ? hints->ai_family : AF_UNSPEC,
                .ai_flags = (flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
                            (flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0)};
    int rc = getaddrinfo(node, service, &want, &found);
    if (rc) return rc;
    struct rdma_addrinfo *info = calloc(1, sizeof(*info));
    if (info) {
        info->ai_flags = flags;
        info->ai_family = found->ai_family;
        info->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type : IBV_QPT_RC;
        info->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
    }
    rc = info ? set_addresses(info, found, hints) : ENOMEM;
    freeaddrinfo(found);
    if (rc) {
        rdma_freeaddrinfo(info);
        errno = rc;
        return -1;
    }
    *res = info;
    return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res) {
    if (!res) return;
    free(res->ai_src_addr);
    free(res->ai_dst_addr);
    free(res);
}

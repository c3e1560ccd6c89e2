#include "rs_dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "rs_internal.h"
#include "rs_verbs.h"

/*
 * glibc 2.34 moved these from libdl into libc under a new version. The old one is there too, and
 * lets the library run on older systems; the JVM has loaded libdl there. Sanitizers want their own.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__x86_64__)
#define RS_DL_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RS_DL_VERSION "GLIBC_2.17"
#endif
#endif
#ifdef RS_DL_VERSION
__asm__(".symver dlopen, dlopen@" RS_DL_VERSION);
__asm__(".symver dlsym, dlsym@" RS_DL_VERSION);
__asm__(".symver dlerror, dlerror@" RS_DL_VERSION);
#endif

struct rs_dl rs_dl;

struct symbol {
    const char *name;
    void *slot; /* a function pointer of rs_dl */
};

#define RS_SYMBOL(function) {#function, &rs_dl.function},
static const struct symbol ibv_symbols[] = {RS_IBV_FUNCTIONS(RS_SYMBOL){NULL, NULL}};
static const struct symbol rdma_symbols[] = {RS_RDMA_FUNCTIONS(RS_SYMBOL){NULL, NULL}};

/* dlsym (unlike linking by an old binary) finds the default, that is the newest, version of a
 * symbol. */
static int open_library(const char *name, const struct symbol *symbols) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return rs_fail(dlerror(), ENOENT);
    for (const struct symbol *symbol = symbols; symbol->name; symbol++) {
        void *function = dlsym(library, symbol->name);
        if (!function) return rs_fail(dlerror(), ENOSYS);
        memcpy(symbol->slot, &function, sizeof(function));
    }
    return 0;
}

int rs_open_libraries(void) {
    int rc = open_library("libibverbs.so.1", ibv_symbols);
    return rc ? rc : open_library("librdmacm.so.1", rdma_symbols);
}

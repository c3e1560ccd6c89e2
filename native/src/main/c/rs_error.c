#include <errno.h>
#include <stdio.h>

#include "rs_internal.h"

static _Thread_local char last_step[256];

int rs_fail(const char *step, int error) {
    snprintf(last_step, sizeof(last_step), "%s", step);
    /* Some provider libraries fail without setting errno. */
    return error > 0 ? -error : -EIO;
}

const char *rs_last_step(void) { return last_step; }

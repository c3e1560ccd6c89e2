/* What softverbs promises, one named case each: `softverbs_test [name...]`. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_peer.h"

int test_failures;

static void read_across_processes(void) {
    const uint32_t lengths[] = {1, 7, 4096, 4097, 65536 + 3, REGION};
    struct owner owner = owner_start("127.0.0.1");
    struct reader reader;
    reader_open(&reader, &owner, (struct options){0});
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint64_t offset = lengths[i] == REGION ? 0 : 12345;
        CHECK(reader_read(&reader, &owner, offset, lengths[i], 0) == IBV_WC_SUCCESS);
        CHECK(sink_right(&reader, 0, offset, lengths[i]));
    }
    reader_close(&reader);
    owner_stop(&owner);
}

static const struct test {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"read_across_processes", read_across_processes},
};

int main(void) {
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        tests[i].run();
        printf("%s %s\n", test_failures ? "not ok" : "ok", tests[i].name);
    }
    return test_failures;
}

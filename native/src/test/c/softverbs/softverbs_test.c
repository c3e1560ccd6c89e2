/*
 * What softverbs promises, one named case each: `softverbs_test [name...]`. Each case runs in a
 * process of its own, forked before the library has done anything, and has its time limit.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_peer.h"

enum { SECONDS_PER_CASE = 30 };

int test_failures;

static bool run(const struct test *test) {
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_PER_CASE);
        test->run();
        fflush(stdout);
        exit(test_failures ? 1 : 0); /* not _exit: leak checkers report at exit */
    }
    waitpid(pid, &status, 0);
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status)) printf("# signal %d\n", WTERMSIG(status));
    printf("%s %s\n", ok ? "ok" : "not ok", test->name);
    return ok;
}

static bool wanted(const struct test *test, int count, char **names) {
    for (int i = 0; i < count; i++) {
        if (!strcmp(names[i], test->name)) return true;
    }
    return count == 0;
}

int main(int argc, char **argv) {
    const struct test *const groups[] = {data_tests, limit_tests, cm_tests, fault_tests};
    int ran = 0, failed = 0;
    unsetenv("SOFTVERBS_DEVICES");
    unsetenv("SOFTVERBS_FAULTS");
    unsetenv("SOFTVERBS_FAULTS_FILE");
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        for (const struct test *test = groups[i]; test->name; test++) {
            if (!wanted(test, argc - 1, argv + 1)) continue;
            ran++;
            failed += !run(test);
        }
    }
    printf("# %d of %d cases failed\n", failed, ran);
    return ran == 0 || failed ? 1 : 0;
}

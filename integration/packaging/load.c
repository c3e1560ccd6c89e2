/* Loads a shared library with all its symbols bound. Run for another processor, by user-mode emulation. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library || !dlsym(library, "Java_io_rdmashuffle_verbs_Native_abi")) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return 0;
}

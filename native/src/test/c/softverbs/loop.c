/* The one thread of a process: sockets, timers and tasks, all under the one lock. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "softverbs.h"

enum { TASKS_PER_TURN = 16, EVENTS_PER_TURN = 64 };

pthread_mutex_t sv_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sv_changed = PTHREAD_COND_INITIALIZER;

static struct {
    bool running;
    bool awake; /* not in epoll_wait, or told to leave it */
    int epoll_fd;
    int wake_fd;
    TAILQ_HEAD(source_list, sv_source) sources, closed;
    LIST_HEAD(, sv_timer) timers;
    TAILQ_HEAD(, sv_task) tasks;
} loop;

uint64_t sv_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void wake(void) {
    if (loop.awake) return;
    loop.awake = true;
    eventfd_write(loop.wake_fd, 1);
}

static void fire_timers(void) {
    uint64_t now = sv_now_ms();
    struct sv_timer *timer = LIST_FIRST(&loop.timers);
    while (timer) {
        if (timer->due_ms > now) {
            timer = LIST_NEXT(timer, link);
            continue;
        }
        sv_timer_cancel(timer);
        timer->fire(timer);
        timer = LIST_FIRST(&loop.timers); /* fire may have changed the list */
    }
}

static void run_tasks(void) {
    struct sv_task *task;
    for (int i = 0; i < TASKS_PER_TURN && (task = TAILQ_FIRST(&loop.tasks)); i++) {
        sv_task_cancel(task);
        task->run(task);
    }
}

static void release_closed(void) {
    struct sv_source *source;
    while ((source = TAILQ_FIRST(&loop.closed))) {
        TAILQ_REMOVE(&loop.closed, source, link);
        source->release(source);
    }
}

static int next_timeout(void) {
    struct sv_timer *timer;
    uint64_t due = UINT64_MAX;
    if (!TAILQ_EMPTY(&loop.tasks)) return 0;
    LIST_FOREACH(timer, &loop.timers, link) {
        if (timer->due_ms < due) due = timer->due_ms;
    }
    if (due == UINT64_MAX) return -1;
    uint64_t now = sv_now_ms();
    return due > now ? (int)(due - now) : 0;
}

static void *run(void *unused) {
    (void)unused;
    struct epoll_event ready[EVENTS_PER_TURN];
    pthread_mutex_lock(&sv_lock);
    for (;;) {
        fire_timers();
        run_tasks();
        release_closed();
        int timeout = next_timeout();
        loop.awake = timeout == 0;
        pthread_mutex_unlock(&sv_lock);
        int n = epoll_wait(loop.epoll_fd, ready, EVENTS_PER_TURN, timeout);
        pthread_mutex_lock(&sv_lock);
        loop.awake = true;
        for (int i = 0; i < n; i++) {
            struct sv_source *source = ready[i].data.ptr;
            eventfd_t count;
            if (!source)
                eventfd_read(loop.wake_fd, &count);
            else if (source->fd >= 0) /* else closed since epoll_wait saw it */
                source->ready(source);
        }
    }
    return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&sv_lock); }

static void after_fork_parent(void) { pthread_mutex_unlock(&sv_lock); }

/* A child starts afresh; it must not keep the parent's connections open or touch its table. */
static void after_fork_child(void) {
    struct sv_source *source;
    pthread_mutex_init(&sv_lock, NULL);
    pthread_cond_init(&sv_changed, NULL);
    if (!loop.running) return;
    TAILQ_FOREACH(source, &loop.sources, link) close(source->fd);
    close(loop.epoll_fd);
    close(loop.wake_fd);
    loop.running = false;
    LIST_INIT(&sv_qps);
    sv_table_forget();
    sv_mrs_forget();
    sv_ids_forget();
    sv_contexts_forget();
    sv_devices_forget();
    sv_fault_forget();
}

static int start_thread(void) {
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the application's threads */
    int rc = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) return rc;
    pthread_setname_np(thread, "softverbs");
    pthread_detach(thread);
    return 0;
}

int sv_loop_start(void) {
    static bool fork_handled;
    if (loop.running) return 0;
    if (!fork_handled) pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    fork_handled = true;
    TAILQ_INIT(&loop.sources);
    TAILQ_INIT(&loop.closed);
    TAILQ_INIT(&loop.tasks);
    LIST_INIT(&loop.timers);
    struct epoll_event event = {.events = EPOLLIN};
    int rc;
    if ((loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) return errno;
    if ((loop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        rc = errno;
        goto close_epoll;
    }
    if (epoll_ctl(loop.epoll_fd, EPOLL_CTL_ADD, loop.wake_fd, &event)) {
        rc = errno;
        goto close_wake;
    }
    loop.awake = true; /* the thread looks around before it sleeps */
    if ((rc = start_thread())) goto close_wake;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* yama would forbid peers to read us */
    loop.running = true;
    sv_fault_start();
    return 0;

close_wake:
    close(loop.wake_fd);
close_epoll:
    close(loop.epoll_fd);
    return rc;
}

int sv_source_add(struct sv_source *source) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    if (epoll_ctl(loop.epoll_fd, EPOLL_CTL_ADD, source->fd, &event)) return errno;
    TAILQ_INSERT_TAIL(&loop.sources, source, link);
    return 0;
}

void sv_source_mute(struct sv_source *source) {
    epoll_ctl(loop.epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

void sv_source_close(struct sv_source *source) {
    sv_source_mute(source);
    close(source->fd);
    source->fd = -1;
    TAILQ_REMOVE(&loop.sources, source, link);
    TAILQ_INSERT_TAIL(&loop.closed, source, link);
    wake();
}

void sv_timer_set(struct sv_timer *timer, uint64_t delay_ms) {
    sv_timer_cancel(timer);
    timer->due_ms = sv_now_ms() + delay_ms;
    timer->armed = true;
    LIST_INSERT_HEAD(&loop.timers, timer, link);
    wake();
}

void sv_timer_cancel(struct sv_timer *timer) {
    if (!timer->armed) return;
    timer->armed = false;
    LIST_REMOVE(timer, link);
}

void sv_task_queue(struct sv_task *task) {
    if (task->queued) return;
    task->queued = true;
    TAILQ_INSERT_TAIL(&loop.tasks, task, link);
    wake();
}

void sv_task_cancel(struct sv_task *task) {
    if (!task->queued) return;
    task->queued = false;
    TAILQ_REMOVE(&loop.tasks, task, link);
}

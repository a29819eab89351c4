/* See wait.h. Three stages: pauses for a few microseconds, pauses between offers of the processor to others, then a
 * futex. The second one outlasts most kernels that run on one thread: where the hypervisor halts an idle processor,
 * waking it takes a hundred microseconds. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/mcc_runtime.h"
#include "runtime/wait.h"

enum { PAUSES_PER_LOOK = 16, QUIET_NS = 5000, SPIN_NS = 1000000, CROWDED_YIELDS = 4 };

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#elif defined(__riscv)
  __asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010"); /* pause */
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int changed(mcc_event* event, uint32_t old) {
  return atomic_load_explicit(&event->word, memory_order_acquire) != old;
}

/* True when the word changed within the spinning budget. */
static int spin(mcc_event* event, uint32_t old, int crowded) {
  if (crowded) {
    for (int i = 0; i < CROWDED_YIELDS; i++) {
      if (changed(event, old)) return 1;
      sched_yield();
    }
    return changed(event, old);
  }
  const int64_t start = now_ns();
  for (;;) {
    for (int i = 0; i < PAUSES_PER_LOOK; i++) {
      if (changed(event, old)) return 1;
      pause_briefly();
    }
    const int64_t spent = now_ns() - start;
    if (spent > SPIN_NS) return changed(event, old);
    if (spent > QUIET_NS) sched_yield();
  }
}

MCC_API int mcc_event_wait(mcc_event* event, uint32_t old, int crowded) {
  if (spin(event, old, crowded)) return 0;
  atomic_store(&event->asleep, 1);
  while (atomic_load(&event->word) == old) syscall(SYS_futex, &event->word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
  atomic_store(&event->asleep, 0);
  return 1;
}

MCC_API void mcc_event_notify(mcc_event* event) {
  if (atomic_load(&event->asleep)) syscall(SYS_futex, &event->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

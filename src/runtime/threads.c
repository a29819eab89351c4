/* A static pool: the caller is thread 0, workers are threads 1 .. threads-1 for the pool's whole life.
   A parallel loop of n iterations is cut into min(n, threads) contiguous chunks, decided by n alone; the last n %
   threads of them have one iteration more, as the last iteration of a ragged loop has less to do. Each worker has a
   mailbox of its own, written only while the worker has nothing to do, so that publishing a chunk is one store;
   finishing is one decrement of a shared count. A loop started from inside a chunk runs serially on its thread, under
   that thread's number. One caller at a time may use a pool.
   A new or woken worker tends to be put on the processor of the thread that woke it; as both then spin, the system can
   take a tenth of a second to move one of them. So the worker moves itself, and is free to be moved again at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/mcc_runtime.h"
#include "runtime/wait.h"

enum { LINE = 128 }; /* bytes that two threads should not share: a pair of cache lines, as prefetchers see them */

struct pool;
typedef struct {
  _Alignas(LINE) mcc_event ticket; /* changes when there is a new chunk (or the end) */
  mcc_chunk_fn fn;                 /* null: the pool is being destroyed */
  void* ctx;
  int64_t begin, end;
  struct pool* pool;
  int32_t thread;
  pthread_t handle;
} mailbox;

typedef struct pool {
  mcc_runtime base;
  int crowded;
  _Atomic int caller_cpu;           /* where the caller was when it last made or woke a worker */
  int32_t started;                  /* workers whose thread exists */
  _Alignas(LINE) mcc_event pending; /* word: chunks of the current loop that workers have not finished */
  mailbox boxes[];                  /* threads - 1 */
} pool;

/* Which pool's chunk this thread is running, and as which thread of it. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
  pool* inside;
  int32_t thread;
} here;

static void finish_chunk(pool* p) {
  if (atomic_fetch_sub(&p->pending.word, 1) == 1) mcc_event_notify(&p->pending);
}

/* To the processor that, of those this process may use, comes as many after the caller's as the worker's number. */
static void move_away_from_caller(const mailbox* box) {
  cpu_set_t allowed, one;
  if (box->pool->crowded || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
  int cpu = atomic_load(&box->pool->caller_cpu);
  for (int32_t after = 0; after < box->thread;) {
    cpu = (cpu + 1) % CPU_SETSIZE;
    after += CPU_ISSET(cpu, &allowed) != 0;
  }
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

static void* work(void* argument) {
  mailbox* box = argument;
  here.inside = box->pool;
  here.thread = box->thread;
  move_away_from_caller(box);
  for (uint32_t seen = 0;; seen++) {
    const int slept = mcc_event_wait(&box->ticket, seen, box->pool->crowded);
    if (slept && sched_getcpu() == atomic_load(&box->pool->caller_cpu)) move_away_from_caller(box);
    if (!box->fn) return NULL;
    box->fn(box->ctx, box->begin, box->end, box->thread);
    finish_chunk(box->pool);
  }
}

static void publish(mailbox* box) {
  if (atomic_load_explicit(&box->ticket.asleep, memory_order_relaxed))
    atomic_store(&box->pool->caller_cpu, sched_getcpu());
  atomic_fetch_add(&box->ticket.word, 1);
  mcc_event_notify(&box->ticket);
}

static void wait_for_workers(pool* p) {
  for (uint32_t left; (left = atomic_load_explicit(&p->pending.word, memory_order_acquire)) != 0;)
    mcc_event_wait(&p->pending, left, p->crowded);
}

static void run_parallel(mcc_runtime* rt, mcc_chunk_fn fn, void* ctx, int64_t n) {
  pool* p = (pool*)rt;
  if (n <= 0) return;
  const int nested = here.inside == p;
  const int64_t chunks = n < rt->threads ? n : rt->threads;
  if (nested || chunks == 1) {
    fn(ctx, 0, n, nested ? here.thread : 0);
    return;
  }
  const int64_t each = n / chunks, more = n % chunks;
  atomic_store_explicit(&p->pending.word, (uint32_t)(chunks - 1), memory_order_relaxed);
  const int64_t mine = each;
  int64_t begin = mine;
  for (int64_t c = 1; c < chunks; c++) {
    mailbox* box = &p->boxes[c - 1];
    box->fn = fn;
    box->ctx = ctx;
    box->begin = begin;
    begin += each + (c >= chunks - more);
    box->end = begin;
    publish(box);
  }
  pool* const outer = here.inside;
  const int32_t outer_thread = here.thread;
  here.inside = p;
  here.thread = 0;
  fn(ctx, 0, mine, 0);
  here.inside = outer;
  here.thread = outer_thread;
  wait_for_workers(p);
}

MCC_API void mcc_runtime_destroy(mcc_runtime* rt) {
  if (!rt || rt == mcc_runtime_serial()) return;
  pool* p = (pool*)rt;
  for (int32_t i = 0; i < p->started; i++) {
    p->boxes[i].fn = NULL;
    publish(&p->boxes[i]);
  }
  for (int32_t i = 0; i < p->started; i++) pthread_join(p->boxes[i].handle, NULL);
  free(p);
}

static int usable_processors(void) {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

MCC_API mcc_runtime* mcc_runtime_create(int32_t threads) {
  if (threads <= 1) return mcc_runtime_serial();
  if (threads > 4096) return NULL;
  void* memory = NULL;
  const size_t bytes = sizeof(pool) + (size_t)(threads - 1) * sizeof(mailbox);
  if (posix_memalign(&memory, LINE, bytes) != 0) return NULL;
  memset(memory, 0, bytes);
  pool* p = memory;
  p->base.parallel = run_parallel;
  p->base.threads = threads;
  p->crowded = threads > usable_processors();
  p->caller_cpu = sched_getcpu();
  for (int32_t i = 0; i < threads - 1; i++) {
    p->boxes[i].pool = p;
    p->boxes[i].thread = i + 1;
    if (pthread_create(&p->boxes[i].handle, NULL, work, &p->boxes[i]) != 0) {
      mcc_runtime_destroy(&p->base);
      return NULL;
    }
    p->started++;
  }
  return &p->base;
}

/* Waiting for a word to change: first by spinning, because the next parallel loop of a model usually comes within
   microseconds, then asleep in the kernel. The protocol between waiter and waker is Dekker's: the waiter announces
   itself and looks at the word again, the waker changes the word and looks for an announcement, both sequentially
   consistent; so one of them sees the other and no wake is lost. */
#ifndef MCC_RUNTIME_WAIT_H
#define MCC_RUNTIME_WAIT_H
#include <stdatomic.h>
#include <stdint.h>

typedef struct {
  _Atomic uint32_t word;
  _Atomic uint32_t asleep; /* a waiter is, or is about to be, asleep on word */
} mcc_event;

/* Returns when event->word != old; true when it slept. `crowded`: there are more threads than processors, so spinning
 * would only steal time. */
int mcc_event_wait(mcc_event* event, uint32_t old, int crowded);
/* To be called after event->word was changed. */
void mcc_event_notify(mcc_event* event);

#endif

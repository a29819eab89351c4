// Where a kernel's buffers live and how its statements are cut into functions. Pure analysis of a Func, without LLVM,
// so that scratch_bytes(), the LLVM emitter and the C printer agree by construction.
//
// Regions. A kernel runs as a sequence of regions: a parallel loop (one function, called for chunks of its range) or a
// maximal run of neighbouring statements without one. Regions never contain each other: a parallel loop inside another
// or inside a vectorized loop runs serially. A parallel loop directly inside another widens the range instead.
//
// Placement of local and reg buffers. Used by one region only: private to a thread, reg and small local buffers on the
// stack, other locals at scratch + shared_bytes + thread * thread_bytes. Used by several: shared, like a temp.
// A private buffer belongs to one iteration of its home, the innermost loop around all its uses. With a vectorized loop
// at home or around it every lane needs a copy of its own: element e of lane v is then at e * lane_pitch + v.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "loop/loop.h"

namespace mcc::codegen {

enum class Place : u8 { param, shared, thread, stack };

struct Placement {
  Place place = Place::param;
  i64 offset = 0;                    // shared: in scratch; thread: in the thread's part; param: position in args
  i64 bytes = 0;                     // with all lanes and padding
  i64 lane_pitch = 1;                // > 1: a copy for each lane of the enclosing vectorized loop
  const loop::Loop* home = nullptr;  // stack and thread: null is the region as a whole
  std::vector<i64> strides;          // in elements, before lane_pitch
};

struct Layout {
  std::vector<Placement> buffers;  // as Func::buffers
  i64 shared_bytes = 0, thread_bytes = 0;
  std::set<const loop::Loop*> vector_loops;             // vectorized loops that become vectors
  std::map<const loop::Loop*, std::vector<int>> homes;  // the stack buffers at home in a loop
};
Layout make_layout(const loop::Func& func);

// The loops that run as one parallel range, outermost first: `outer` and those directly inside it.
std::vector<const loop::Loop*> parallel_nest(const loop::Loop& outer);
bool has_parallel_region(const loop::Stmt& stmt);

// The buffers a list of statements touches, ascending.
std::set<int> used_buffers(const std::vector<loop::Stmt>& body);
void add_used_buffers(const loop::Stmt& stmt, std::set<int>& into);
void add_used_buffers(const loop::Expr& expr, std::set<int>& into);

}  // namespace mcc::codegen

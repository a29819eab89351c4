// A point in time by which something is to be done, and the time since it was set.
#pragma once
#include <chrono>
#include <limits>

namespace mcc {

class Deadline {
 public:
  // That many seconds from now; 0: never.
  explicit Deadline(double seconds) : seconds_(seconds), start_(Clock::now()) {}
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double left() const { return seconds_ > 0 ? seconds_ - elapsed() : std::numeric_limits<double>::infinity(); }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point start_;
};

}  // namespace mcc

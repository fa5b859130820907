// SPDX-License-Identifier: Apache-2.0
// A suspended stack that can be resumed: boost::context::fiber, plus the calls that AddressSanitizer
// needs when stacks are switched, plus unwinding by an ordinary exception.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace diecast::sw {

/// Contexts are symmetric: a coroutine that resumes another is passed to it. Destroying one
/// that is suspended unwinds its stack.
class coroutine {
 public:
  class unwind;
  /// Runs on the new stack with the context that resumed it first; returns the context to continue with.
  using body = std::function<coroutine(coroutine&&)>;

  coroutine() = default;
  coroutine(std::size_t stack_bytes, body run);
  coroutine(coroutine&& other) noexcept { swap(other); }
  coroutine& operator=(coroutine&& other) noexcept;
  ~coroutine();

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fiber_); }

  /// Suspends the caller and continues here. Returns the context that resumes the caller later;
  /// throws unwind when the caller is destroyed instead. Precondition: not empty.
  [[nodiscard]] coroutine resume() &&;

 private:
  void swap(coroutine& other) noexcept;
  [[nodiscard]] coroutine switch_to() &&;
  static boost::context::fiber leave(coroutine&& next);

  boost::context::fiber fiber_;
  const void* stack_bottom_{};
  std::size_t stack_bytes_{};
};

/// Travels up a stack that is being destroyed. Code that catches everything must rethrow it.
class coroutine::unwind {
 public:
  explicit unwind(coroutine&& destroyer) : destroyer_(std::move(destroyer)) {}
  unwind(unwind&&) = default;
  unwind& operator=(unwind&&) = delete;
  ~unwind();

 private:
  friend class coroutine;
  coroutine destroyer_;
};

}  // namespace diecast::sw

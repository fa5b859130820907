// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/coroutine.hpp"

#include <boost/context/fixedsize_stack.hpp>
#include <exception>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DIECAST_ANNOTATE_STACKS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DIECAST_ANNOTATE_STACKS
#endif
#if defined(DIECAST_ANNOTATE_STACKS)
#include <sanitizer/common_interface_defs.h>
#endif

namespace diecast::sw {
namespace {

using boost::context::fiber;

/// Set when a context is destroyed, read and cleared by the context, which is resumed for that.
thread_local bool unwinding_requested = false;

// Without these calls an exception on one stack leaves AddressSanitizer's marks on another.
void about_to_switch([[maybe_unused]] void** frames, [[maybe_unused]] const void* bottom,
                     [[maybe_unused]] std::size_t bytes) {
#if defined(DIECAST_ANNOTATE_STACKS)
  __sanitizer_start_switch_fiber(frames, bottom, bytes);
#endif
}
void has_switched([[maybe_unused]] void* frames, [[maybe_unused]] const void** bottom,
                  [[maybe_unused]] std::size_t* bytes) {
#if defined(DIECAST_ANNOTATE_STACKS)
  __sanitizer_finish_switch_fiber(frames, bottom, bytes);
#endif
}

}  // namespace

coroutine::coroutine(std::size_t stack_bytes, body run) {
  boost::context::fixedsize_stack allocator{stack_bytes};
  const boost::context::stack_context stack = allocator.allocate();
  const auto entry = [run = std::move(run)](fiber&& from) {
    coroutine resumer;
    resumer.fiber_ = std::move(from);
    has_switched(nullptr, &resumer.stack_bottom_, &resumer.stack_bytes_);
    if (std::exchange(unwinding_requested, false)) return leave(std::move(resumer));
    coroutine next;
    try {
      next = run(std::move(resumer));
    } catch (unwind& u) {
      next.swap(u.destroyer_);
    }
    return leave(std::move(next));
  };
  fiber_ =
      fiber{std::allocator_arg, boost::context::preallocated{stack.sp, stack.size, stack}, allocator, entry};
  stack_bottom_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  stack_bytes_ = stack.size;
}

coroutine& coroutine::operator=(coroutine&& other) noexcept {
  coroutine taken{std::move(other)};
  swap(taken);
  return *this;
}

coroutine::~coroutine() {
  if (!fiber_) return;
  unwinding_requested = true;
  const coroutine ended = std::move(*this).switch_to();
}

void coroutine::swap(coroutine& other) noexcept {
  fiber_.swap(other.fiber_);
  std::swap(stack_bottom_, other.stack_bottom_);
  std::swap(stack_bytes_, other.stack_bytes_);
}

coroutine coroutine::resume() && {
  coroutine resumer = std::move(*this).switch_to();
  if (std::exchange(unwinding_requested, false)) throw unwind{std::move(resumer)};
  return resumer;
}

coroutine coroutine::switch_to() && {
  void* frames = nullptr;
  about_to_switch(&frames, stack_bottom_, stack_bytes_);
  coroutine from;
  from.fiber_ = std::move(fiber_).resume();
  has_switched(frames, &from.stack_bottom_, &from.stack_bytes_);
  return from;
}

fiber coroutine::leave(coroutine&& next) {
  about_to_switch(nullptr, next.stack_bottom_, next.stack_bytes_);
  return std::move(next.fiber_);
}

coroutine::unwind::~unwind() {
  // Some code caught the exception: the frames below it still use a machine that no longer exists.
  if (destroyer_) std::terminate();
}

}  // namespace diecast::sw

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

/// One step of a schedule: something that gives one base its buffer.
struct ScheduleItem {
  /// Op::Store: run `ast`, a valid kernel: out is buffer 0, inputs[i] is buffer i + 1.
  /// Op::From: copy inputs[0], which is on another device. Op::Rand: fill from the stream of
  /// out->arg(). Op::Empty: allocate. Op::Custom: out->custom_function() on the inputs. Op::Noop:
  /// out, on several devices, is what they have of it: `inputs`, sharded along `axis` or whole.
  /// Where out->assigns_to() is not null, its memory and what came out are exchanged afterwards.
  Op kind = Op::Store;
  LazyOpPtr ast;                      // kernels only
  LazyBufferPtr out;                  // a base
  std::vector<LazyBufferPtr> inputs;  // bases, each once, in the order of first use
  symbolic::Values var_vals;          // the variables of `ast`
  std::optional<int> axis{};          // of Op::Noop
};

/// The steps, in order, that realize the bases of all `outputs`: each base that needs
/// memory once, after everything it reads. Realized bases and constants need no step. The result is
/// a function of the graph and the order of `outputs` alone: who else holds a LazyBuffer, addresses
/// and hash order do not matter.
///
/// What is on several devices, and all that is computed with it, goes by lib/kernelize whatever
/// the config says.
///
/// Fusion (fusion.h) follows tinygrad@v0.8.0: elementwise work goes into its reader
/// unless it would be repeated by an expand or run on padding that it does not keep zero; a reduce
/// takes up to one chain of elementwise work behind it.
/// Throws Error where `values` lacks a variable of the graph.
std::vector<ScheduleItem> schedule(std::span<const LazyBufferPtr> outputs,
                                   const symbolic::Values& values = {},
                                   const Config& config = Config::current());

}  // namespace touchstone

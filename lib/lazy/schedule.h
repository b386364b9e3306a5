#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/device/config.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone {

/// One step of a schedule, which gives one base its buffer.
struct ScheduleItem {
  /// Op::Store: run `ast`, a valid kernel; out is buffer 0, inputs[i] is buffer i + 1. Op::From:
  /// copy inputs[0] from another device. Op::Rand: fill from the stream of out->arg(). Op::Empty:
  /// allocate. Op::Custom: out->custom_function() on the inputs. Op::Noop: join `inputs`, one per
  /// device, sharded along `axis` or whole. If out->assigns_to() is not null, its memory and the
  /// result are exchanged afterwards.
  Op kind = Op::Store;
  LazyOpPtr ast;                      // kernels only
  LazyBufferPtr out;                  // a base
  std::vector<LazyBufferPtr> inputs;  // distinct bases in order of first use
  symbolic::Values var_vals;          // the variables of `ast`
  std::optional<int> axis{};          // for Op::Noop
};

/// Returns the steps, in order, that realize the bases of all `outputs`: each base that needs
/// memory once, after everything it reads. Realized bases and constants need no step. The result
/// depends only on the graph and the order of `outputs`, not on other owners, addresses or hash
/// order.
///
/// Work on several devices, and everything computed with it, uses lib/kernelize whatever the
/// config.
///
/// Fusion (fusion.h) follows tinygrad@v0.8.0: elementwise work is merged into its reader unless an
/// expand would repeat it or it would run on padding that it does not keep zero; a reduce absorbs
/// up to one chain of elementwise work after it. Throws Error if `values` lacks a variable of the
/// graph.
std::vector<ScheduleItem> schedule(std::span<const LazyBufferPtr> outputs,
                                   const symbolic::Values& values = {},
                                   const Config& config = Config::current());

}  // namespace touchstone

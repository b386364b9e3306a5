#pragma once

#include <span>
#include <string>

#include "touchstone/lazy/schedule.h"

namespace touchstone {

/// A schedule for people and programs. Its buffers are numbered from 1 in the order in which the
/// items name them, inputs before outputs; the text of equal schedules is equal.

/// One line an item: number, kind, device, what it computes, the buffers it reads and makes.
std::string str(std::span<const ScheduleItem> items);
/// One object: `format`, `buffers` (id, dtype, size in elements, device, made_by: item or null),
/// `items` (kind, device, inputs, output, variables, and for kernels name, flops, bytes and the
/// kernel of docs/kernel-json.md), `memory` (bytes of intermediates, as planned and side by side).
std::string to_json(std::span<const ScheduleItem> items);
/// Graphviz: a node an item (of id i0, i1, ... and class reduce, elementwise or load; its AST as
/// tooltip), an edge where one makes what the other reads. Of more than 300 edges those are left
/// out that a longer way implies.
std::string to_dot(std::span<const ScheduleItem> items, const std::string& title = "schedule");

}  // namespace touchstone

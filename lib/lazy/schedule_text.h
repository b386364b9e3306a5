#pragma once

#include <span>
#include <string>

#include "touchstone/lazy/schedule.h"

/// Schedules as text for people and programs. Buffers are numbered from 1 in order of mention,
/// inputs before outputs; equal schedules have equal text.
namespace touchstone {

/// One line per item: number, kind, device, what it computes, the buffers it reads and writes.
std::string str(std::span<const ScheduleItem> items);
/// One object: `format`, `buffers` (id, dtype, size in elements, device, made_by: item or null),
/// `items` (kind, device, inputs, output, variables, and for kernels name, flops, bytes and the
/// kernel of docs/kernel-json.md), `memory` (bytes of intermediates, with and without reuse).
std::string to_json(std::span<const ScheduleItem> items);
/// Graphviz: a node per item (id i0, i1, ...; class reduce, elementwise or load; its AST as
/// tooltip) and an edge from each writer to its readers. With more than 300 edges, transitive ones
/// are omitted.
std::string to_dot(std::span<const ScheduleItem> items, const std::string& title = "schedule");

}  // namespace touchstone

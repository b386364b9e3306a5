#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {

/// A row-major array of numbers; graphs of small integers give exact results.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool operator==(const Numbers&) const = default;
};

inline Shape shape_of(const Numbers& x) { return {x.shape.begin(), x.shape.end()}; }

/// Runs graphs of UOps kernel by kernel on their devices, in place.
class GraphRunner {
 public:
  explicit GraphRunner(Config config = Config()) : config_(std::move(config)) {}

  /// A float32 BUFFER on a device with these values and their shape.
  UOp given(const Numbers& x, const std::string& device) {
    const auto n = static_cast<std::int64_t>(x.values.size());
    const UOp buffer = UOp::new_buffer(UOp::device(Device::canonical(device)), n, DType::Float32);
    const std::vector<float> floats(x.values.begin(), x.values.end());
    memory(buffer)[0]->write<float>(floats);
    return buffer.reshape(shape_of(x));
  }

  /// Computes outputs through contiguous().
  std::vector<Numbers> run(const std::vector<UOp>& outputs) {
    std::vector<UOp> stored;
    for (const UOp& u : outputs) stored.push_back(u.contiguous());
    const UOp sink = UOp::sink(stored);
    const RewriteMap map = kernelize_graph(sink, config_);
    for (const UOp& assign : order_of_kernels(result_of(map, sink))) step(assign);
    std::vector<Numbers> all;
    for (const UOp& u : stored) all.push_back(read(result_of(map, u)));
    return all;
  }
  Numbers run(const UOp& output) { return run(std::vector{output})[0]; }

  std::int64_t kernels = 0, copies = 0, copied = 0;  // over all devices; elements transferred

 private:
  std::vector<BufferPtr>& memory(const UOp& buffer) {
    std::vector<BufferPtr>& of = memory_[buffer];
    if (of.empty())
      for (const std::string& name : buffer.device())
        of.push_back(std::make_shared<Buffer>(Device::get(name), buffer.dtype().base,
                                              buffer.arg_as<std::int64_t>()));
    return of;
  }

  std::vector<BufferPtr> members(const UOp& u) {
    if (u.op() == GraphOp::Buffer) return memory(u);
    if (u.op() == GraphOp::Assign || is_movement(u.op())) return members(u.src(0));
    std::vector<BufferPtr> all;
    if (u.op() == GraphOp::MSelect)
      all = {members(u.src(0))[static_cast<std::size_t>(u.arg_as<std::int64_t>())]};
    if (u.op() == GraphOp::MStack)
      for (const UOp& s : u.src()) all.push_back(members(s).at(0));
    if (all.empty()) throw AstError(u.line() + " is no memory");
    return all;
  }

  void step(const UOp& assign) {
    const std::vector<BufferPtr> out = members(assign.src(0));
    const UOp& ast = assign.src(1).arg_as<UOpKernelPtr>()->ast;
    if (ast.op() == GraphOp::Copy) {
      copy(*out.at(0), *members(ast.src(0).base()).at(0));
      ++copies;
      copied += out[0]->size();
      return;
    }
    const LoweredKernel kernel = lower_kernel(assign);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::vector<Buffer*> buffers{out[i].get()};
      for (const UOp& input : kernel.inputs) buffers.push_back(members(input).at(i).get());
      symbolic::Values values;
      for (const symbolic::Node& v : variables_of(kernel.ast))
        values[symbolic::variable_name(v)] = static_cast<std::int64_t>(i);
      run_kernel(out[i]->device(), kernel.ast, buffers, values);
      ++kernels;
    }
  }

  Numbers read(const UOp& result) {
    if (result.base().op() == GraphOp::Const)
      return {sizes(result.shape()),
              std::vector<double>(static_cast<std::size_t>(result.size().as_int()),
                                  result.base().value().to_double())};
    const std::vector<BufferPtr> parts = members(result.base());
    std::vector<Numbers> shards;
    const bool sharded = result.op() == GraphOp::Multi;
    const Shape& local = sharded ? result.src(0).shape() : result.shape();
    for (const BufferPtr& part : parts) {
      Numbers one{sizes(local), {}};
      for (std::int64_t i = 0; i < part->size(); ++i) one.values.push_back(part->at(i).to_double());
      shards.push_back(std::move(one));
    }
    if (!sharded) {
      for (std::size_t i = 1; i < shards.size(); ++i)
        if (shards[i] != shards[0]) throw AstError("devices differ in what all of them hold");
      return shards[0];
    }
    return joined(shards, static_cast<std::size_t>(result.arg_as<std::int64_t>()),
                  sizes(result.shape()));
  }

  static std::vector<std::int64_t> sizes(const Shape& shape) {
    std::vector<std::int64_t> all;
    for (const sint& s : shape) all.push_back(s.as_int());
    return all;
  }

  static Numbers joined(const std::vector<Numbers>& shards, std::size_t axis,
                        std::vector<std::int64_t> shape) {
    std::int64_t inside = 1, outside = 1;
    for (std::size_t i = 0; i < axis; ++i) outside *= shape[i];
    for (std::size_t i = axis; i < shape.size(); ++i) inside *= shards[0].shape[i];
    Numbers all{std::move(shape), {}};
    for (std::int64_t o = 0; o < outside; ++o)
      for (const Numbers& s : shards)
        for (std::int64_t k = 0; k < inside; ++k)
          all.values.push_back(s.values[static_cast<std::size_t>(o * inside + k)]);
    return all;
  }

  Config config_;
  UOpMap<std::vector<BufferPtr>> memory_;
};

/// The result of a graph on one device, by loops over whole arrays.
class PlainNumbers {
 public:
  void give(const UOp& x, Numbers values) { known_.set(x, std::move(values)); }

  Numbers of(const UOp& sink) {
    for (const UOp& u : sink.toposort())
      if (!known_.has(u) && u.st() != nullptr && !u.dtype().is_none() && u.op() != GraphOp::Buffer)
        known_.set(u, computed(u));
    return *known_.find(sink);
  }

 private:
  using Index = std::vector<std::int64_t>;
  static std::size_t flat(const Index& at, const Index& shape) {
    std::int64_t f = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) f = f * shape[i] + at[i];
    return static_cast<std::size_t>(f);
  }

  static Numbers each(const Shape& shape, const std::function<double(const Index&)>& value) {
    Numbers out;
    std::int64_t n = 1;
    for (const sint& s : shape) {
      out.shape.push_back(s.as_int());
      n *= s.as_int();
    }
    Index at(shape.size(), 0);
    for (std::int64_t k = 0; k < n; ++k) {
      out.values.push_back(value(at));
      for (std::size_t i = shape.size(); i-- > 0;) {
        if (++at[i] < out.shape[i]) break;
        at[i] = 0;
      }
    }
    return out;
  }

  Numbers computed(const UOp& u) {
    if (u.op() == GraphOp::Const)
      return each(u.shape(), [&](const Index&) { return u.value().to_double(); });
    const Numbers& x = *known_.find(u.src(0));
    const auto source = [&](std::size_t s, const Index& at) {
      const Numbers& from = *known_.find(u.src(s));
      return from.values[flat(at, from.shape)];
    };
    if (u.op() == GraphOp::Reshape)
      return {each(u.shape(), [](const Index&) { return 0.0; }).shape, x.values};
    if (u.op() == GraphOp::ReduceAxis) return reduced(u, x);
    return each(u.shape(), [&](Index at) -> double {
      switch (u.op()) {
        case GraphOp::Permute: {
          const auto& order = u.arg_as<std::vector<int>>();
          Index from(at.size());
          for (std::size_t i = 0; i < at.size(); ++i)
            from[static_cast<std::size_t>(order[i])] = at[i];
          return source(0, from);
        }
        case GraphOp::Expand:
          for (std::size_t i = 0; i < at.size(); ++i) at[i] = x.shape[i] == 1 ? 0 : at[i];
          return source(0, at);
        case GraphOp::Pad:
          for (std::size_t i = 0; i < at.size(); ++i) {
            at[i] -= u.arg_as<Mask>()[i].first.as_int();
            if (at[i] < 0 || at[i] >= x.shape[i]) return 0;
          }
          return source(0, at);
        case GraphOp::Shrink:
          for (std::size_t i = 0; i < at.size(); ++i) at[i] += u.arg_as<Mask>()[i].first.as_int();
          return source(0, at);
        case GraphOp::Flip:
          for (const int a : u.arg_as<std::vector<int>>()) {
            const auto i = static_cast<std::size_t>(a);
            at[i] = x.shape[i] - 1 - at[i];
          }
          return source(0, at);
        case GraphOp::Add: return source(0, at) + source(1, at);
        case GraphOp::Sub: return source(0, at) - source(1, at);
        case GraphOp::Mul: return source(0, at) * source(1, at);
        case GraphOp::Max: return std::max(source(0, at), source(1, at));
        case GraphOp::CmpLt: return source(0, at) < source(1, at) ? 1 : 0;
        case GraphOp::Where: return source(0, at) != 0 ? source(1, at) : source(2, at);
        case GraphOp::Neg: return -source(0, at);
        default: return source(0, at);  // requests, value-preserving casts, copies
      }
    });
  }

  static Numbers reduced(const UOp& u, const Numbers& x) {
    const auto& arg = u.arg_as<UOpReduce>();
    const double none = arg.op == GraphOp::Add ? 0 : arg.op == GraphOp::Mul ? 1 : -1e30;
    Numbers out = each(u.shape(), [&](const Index&) { return none; });
    Shape all(x.shape.begin(), x.shape.end());
    each(all, [&](Index at) {
      const double term = x.values[flat(at, x.shape)];
      for (const int a : arg.axes) at[static_cast<std::size_t>(a)] = 0;
      double& sum = out.values[flat(at, out.shape)];
      sum = arg.op == GraphOp::Add   ? sum + term
            : arg.op == GraphOp::Mul ? sum * term
                                     : std::max(sum, term);
      return 0.0;
    });
    return out;
  }

  UOpMap<Numbers> known_;
};

}  // namespace touchstone

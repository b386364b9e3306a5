// Run by mpi_test under mpirun: scenarios NAME. Each rank prints a line for each fact that holds.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>
#ifdef TOUCHSTONE_HAS_MPI
#include <mpi.h>
#endif

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/mpi/mpi_world.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/optim.h"

namespace touchstone {
namespace {

using Names = std::vector<std::string>;

Tensor make(const Shape& shape, int seed) {
  std::vector<float> values;
  std::int64_t n = 1;
  for (const sint& s : shape) n *= s.as_int();
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(std::sin(static_cast<float>(i * 7 + seed * 5 + 1)));
  return Tensor::from(values, shape);
}

Names here(const MpiWorld& world, const std::string& kind) {
  Names all;
  for (int i = 0; i < world.size(); ++i) all.push_back(kind + ":" + std::to_string(i));
  return all;
}

void say(const MpiWorld& world, bool holds, const std::string& what) {
  std::cout << "rank " << world.rank() << (holds ? " ok " : " WRONG ") + what + "\n" << std::flush;
  if (!holds) throw Error(what + " does not hold");
}

bool same(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.read<float>(), y = b.read<float>();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

// The bits equal those of as many devices in one process, by either allreduce.
void computes(MpiWorld& world) {
  const std::int64_t n = world.size();
  const Tensor x = make({4 * n, 6}, 1), y = make({4 * n, 2 * n}, 2);
  for (const std::string kind : {"CPU", "CLANG"})
    for (const int ring : {0, 2}) {
      Config config;
      config.kernelize.ring = ring;
      const ConfigScope scope(config);
      const auto all = [&](const Names& on) {
        const Tensor a = x.shard(on, 0), b = y.shard(on, 1);
        return std::vector{a.square().sum({0}),
                           b.matmul(b.transpose()).max({0}),
                           (a.matmul(a.transpose())).sum(),
                           b.shard(on, 0) * 2 + 1,
                           softmax(a, 0),
                           a.shrink({{0, 4}, {0, 6}})};
      };
      const std::vector<Tensor> there = all(world.devices(kind)), one = all(here(world, kind));
      for (std::size_t i = 0; i < there.size(); ++i)
        say(world, same(there[i], one[i]), kind + " result " + std::to_string(i));
    }
}

// Table lookup by positions, and summing gradients.
void looks_up(MpiWorld& world) {
  const std::int64_t n = world.size();
  const Tensor table = make({5, 3}, 1), at = Tensor::arange(0, 2 * n).clamp(0, 4);
  const Names on = world.devices("CLANG");
  Tensor t = table.to(on).detach();
  t.set_requires_grad();
  const Tensor rows = take(t, at.shard(on, 0), 0);
  say(world, same(rows, take(table, at, 0)), "rows of a table");
  rows.square().sum().backward();
  Tensor one = table.detach();
  one.set_requires_grad();
  take(one, at, 0).square().sum().backward();
  say(world, same(*t.grad(), *one.grad()), "their gradient");
  const Tensor loss =
      cross_entropy(table.to(on), Tensor::arange(0, 5).cast(DType::Int32).clamp(0, 2).to(on));
  say(world, loss.item<float>() > 0, "labels that are checked");
}

// Trains data-parallel and tensor-parallel layers: every rank has the parameters that devices in
// one process have.
void trains(MpiWorld& world) {
  const auto run = [](const Names& on, bool data) {
    const auto n = static_cast<std::int64_t>(on.size());
    const Tensor x = make({8 * n, 4}, 1), wanted = make({8 * n, 2}, 2);
    Tensor w1 = make({4, 4 * n}, 3), w2 = make({4 * n, 2}, 4);
    if (data) {
      w1.to_(Device::tuple(on));
      w2.to_(Device::tuple(on));
    } else {
      w1.shard_(on, 1);
      w2.shard_(on, 0);
    }
    w1.set_requires_grad();
    w2.set_requires_grad();
    optim::Adam adam({w1, w2}, 0.01);
    std::vector<Tensor> out;
    for (int step = 0; step < 5; ++step) {
      const Tensor a = data ? x.shard(on, 0) : x.to(on);
      adam.zero_grad();
      const Tensor loss = (a.matmul(w1).relu().matmul(w2) - wanted.to(on)).square().mean();
      loss.backward();
      adam.step({loss});
      out.push_back(loss);
    }
    out.push_back(w1);
    out.push_back(w2);
    return out;
  };
  for (const bool data : {true, false}) {
    const std::vector<Tensor> there = run(world.devices("CLANG"), data),
                              one = run(here(world, "CLANG"), data);
    for (std::size_t i = 0; i < there.size(); ++i)
      say(world, same(there[i], one[i]), (data ? "data " : "tensor ") + std::to_string(i));
    say(world, there[0].item<float>() > there[4].item<float>(), "the loss falls");
  }
}

void large(MpiWorld& world) {
  const std::int64_t n = world.size();
  const Tensor x = Tensor::full({n, std::int64_t{1} << 20}, 1).shard(world.devices("CLANG"), 0);
  say(world, x.sum({0}).max().item<float>() == static_cast<float>(n), "4 MiB each");
}

#ifdef TOUCHSTONE_HAS_MPI
// Alternates an allreduce of 64 MB with MPI's own; the best of each, for docs/multi.md.
void times(MpiWorld& world) {
  const std::int64_t n = world.size(), count = 16'000'000;
  const Tensor x = Tensor::full({n, count}, 1).shard(world.devices("CLANG"), 0).contiguous();
  x.realize();
  std::vector<float> own(static_cast<std::size_t>(count), 1), sum(own.size());
  const auto best_of = [&](double& best, const auto& work) {
    world.barrier();
    const auto start = std::chrono::steady_clock::now();
    work();
    world.barrier();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  double ours = 1e9, alone = 1e9;
  for (int i = 0; i < 12; ++i) {
    best_of(ours, [&] { x.sum({0}).contiguous().realize(); });
    best_of(alone, [&] {
      MPI_Allreduce(own.data(), sum.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
  }
  say(world, sum[0] == static_cast<float>(n),
      fmt::format("{:.4f} s, MPI_Allreduce {:.4f} s, ratio {:.2f}", ours, alone, ours / alone));
}
#else
void times(MpiWorld&) {}
#endif

// Sends more than MPI's buffers hold to a busy rank, and back at the same time.
void floods(MpiWorld& world) {
  const std::string next = "CLANG@" + std::to_string(world.size() - 1);
  std::vector<Tensor> there, back;
  for (int i = 0; i < 600; ++i) {
    const std::int64_t size = i % 100 == 7 ? std::int64_t{1} << 20 : 1 + i * 37 % 9000;
    const Tensor a = Tensor::full({size}, static_cast<float>(i)).to("CLANG@0").contiguous();
    const Tensor b = Tensor::full({size}, static_cast<float>(i + 1)).to(next).contiguous();
    there.push_back(a.to(next).contiguous());
    back.push_back(b.to("CLANG@0").contiguous());
  }
  if (world.rank() == world.size() - 1) std::this_thread::sleep_for(std::chrono::seconds(1));
  std::vector<Tensor> all = there;
  all.insert(all.end(), back.begin(), back.end());
  realize(all);
  bool right = true;
  for (std::size_t i = 0; i < there.size(); ++i)
    for (const auto& [x, holder, value] :
         {std::tuple{there[i], world.size() - 1, i}, std::tuple{back[i], 0, i + 1}})
      if (world.rank() == holder) {
        const std::vector<float> now = x.lazy()->realized()->read<float>();
        right = right &&
                std::ranges::all_of(now, [&](float v) { return v == static_cast<float>(value); });
      }
  say(world, right, "600 messages each way");
}

// One rank lacks memory for a tensor, in the middle of other work.
void exhausts(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  (void)x.sum().item<float>();
  const Tensor large = Tensor::full({std::int64_t{1} << 40, 4}, 1).to("CLANG@1").contiguous();
  (void)(x.sum({0}).to("CPU") + large.shrink({{0, 3}, {0, 1}}).reshape({3}).to("CPU"))
      .sum()
      .item<float>();
}

// Rank 0 is killed while it writes a checkpoint over an older one, after its first bytes reach the
// file size limit.
void cut_off(MpiWorld& world) {
  const char* const path = std::getenv("SCENARIO_FILE");
  const auto save = [&](float value) {
    const Tensor w = Tensor::full({2 * world.size(), 5000}, value).shard(world.devices("CLANG"), 0);
    const Tensor whole = w.to("CPU").contiguous().realize();
    if (world.rank() == 0) nn::save_state(path, {{"w", whole}}, {{"value", std::to_string(value)}});
    world.barrier();
  };
  save(1);
  say(world, true, "saved once");
  if (world.rank() == 0) {
    const rlimit least{20'000, 20'000};
    setrlimit(RLIMIT_FSIZE, &least);
  }
  save(2);
  say(world, true, "saved twice");
}

// Resumes from cut_off()'s files.
void goes_on(MpiWorld& world) {
  const char* const path = std::getenv("SCENARIO_FILE");
  Tensor w = Tensor::zeros({2 * world.size(), 5000}).shard(world.devices("CLANG"), 0);
  nn::load_state(path, {{"w", w}});
  const std::vector<float> now = w.read<float>();
  say(world, std::ranges::all_of(now, [](float v) { return v == 1; }), "the older one is whole");
}

void saves(MpiWorld& world) {
  const char* const path = std::getenv("SCENARIO_FILE");
  Tensor w = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  const Tensor whole = w.to("CPU").contiguous().realize();
  if (world.rank() == 0) nn::save_state(path, {{"w", whole}});
  world.barrier();
  Tensor into = Tensor::zeros({2 * world.size(), 3}).shard(world.devices("CLANG"), 0);
  nn::load_state(path, {{"w", into}});
  say(world, same(into, whole), "saved by one, loaded by all");
}

void differs(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  const Tensor y = world.rank() == 1 ? (x + 1).sum({0}) : (x * 2).sum({0});
  (void)y.read<float>();
}

void shorter(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  const Tensor y = world.rank() == 1 ? x : x.sum({0});
  (void)y.read<float>();
}

void dies(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  (void)x.sum().item<float>();
  if (world.rank() == 1) _exit(3);
  (void)(x * 2).sum().item<float>();
}

void stalls(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
  (void)x.sum().item<float>();
}

// One rank fails with its own error in the middle.
void fails(MpiWorld& world) {
  const Tensor x = make({2 * world.size(), 3}, 1).shard(world.devices("CLANG"), 0);
  (void)x.sum().item<float>();
  if (world.rank() == 1) throw BufferError("no memory, say");
  (void)(x * 2).sum().item<float>();
}

void foreign(MpiWorld& world) {
  const Tensor x = make({2, 3}, 1).to("CLANG@0").contiguous().realize();
  if (world.rank() == 1) (void)x.lazy()->realized()->at(0);
}

void nowhere(MpiWorld& world) { (void)make({2, 3}, 1).to("CLANG@" + std::to_string(world.size())); }

int run(const std::string& name) {
  const std::map<std::string, std::function<void(MpiWorld&)>> all = {
      {"computes", computes}, {"looks_up", looks_up}, {"trains", trains},     {"large", large},
      {"times", times},       {"saves", saves},       {"differs", differs},   {"shorter", shorter},
      {"dies", dies},         {"stalls", stalls},     {"fails", fails},       {"foreign", foreign},
      {"nowhere", nowhere},   {"floods", floods},     {"exhausts", exhausts}, {"cut_off", cut_off},
      {"goes_on", goes_on}};
  register_interpreted_device();
  register_clang_device();
  MpiWorld world;
  try {
    all.at(name)(world);
  } catch (const Error& e) {
    std::cout << "rank " << world.rank() << " ERROR " << e.what() << "\n" << std::flush;
    world.fail(e.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) { return touchstone::run(argc > 1 ? argv[1] : ""); }

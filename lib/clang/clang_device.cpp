#include "touchstone/clang/clang_device.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "touchstone/base/fp_guard.h"
#include "touchstone/base/hash.h"
#include "touchstone/clang/compiler.h"
#include "touchstone/clang/object_cache.h"
#include "touchstone/clang/shared_object.h"
#include "touchstone/clang/worker_pool.h"
#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/device/output_apart.h"
#include "touchstone/ops/index_fault.h"

namespace touchstone {

namespace {

using clang::SharedObject;
using clang::WorkerPool;

constexpr std::size_t kKernelsPerCompile = 16;  // fewer do not justify a second compiler process
constexpr int kMostFailures = 24;  // compiler runs when searching for the kernel that it rejects

constexpr std::size_t kMostRecent = 4;  // objects searched for a kernel

// Placeholder for a symbol whose key is not yet known.
constexpr std::string_view kUnnamed = "@";

// A kernel on its way to becoming a Runner.
struct Draft {
  LinearKernel linear;
  std::string function;  // C with the key in its symbol
  std::string symbol;
  std::string key;
  LazyOpPtr kernel;
  std::shared_ptr<SharedObject> object;
};

class ClangRunner final : public Runner {
 public:
  ClangRunner(Draft draft, std::shared_ptr<WorkerPool> pool, std::int64_t parallel_work)
      : object_(std::move(draft.object)),
        function_(object_ ? object_->function(draft.symbol) : nullptr),
        linear_(std::move(draft.linear)),
        parallel_work_(parallel_work),
        kernel_(std::move(draft.kernel)),
        pool_(std::move(pool)),
        places_(linear_.places()),
        checks_(linear_.checks()) {}

  double run(std::span<Buffer* const> buffers, const symbolic::Values& values) override {
    const auto begin = std::chrono::steady_clock::now();
    if (function_ != nullptr) launch(buffers, values);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string source() const override { return render_vector_c(linear_); }
  std::string profile() const override { return profile_json(linear_); }

 private:
  void launch(std::span<Buffer* const> buffers, const symbolic::Values& values) {
    OutputApart apart(buffers);
    std::vector<void*> memory(places_, nullptr);
    for (std::size_t i = 0; i < places_ && i < buffers.size(); ++i)
      if (apart.buffers()[i] != nullptr) memory[i] = apart.buffers()[i]->memory();
    std::vector<std::int64_t> vars;
    for (const std::string& name : linear_.variables) vars.push_back(values.at(name));
    call(memory, vars, values);
    apart.finish();
  }

  void call(std::vector<void*>& memory, const std::vector<std::int64_t>& vars,
            const symbolic::Values& values) {
    std::vector<IndexFault> faults;
    if (checks_) {
      faults.resize(static_cast<std::size_t>(pool_->threads()));
      memory.push_back(faults.data());
    }
    if (linear_.split >= 0 && pool_->threads() > 1 && work(values) >= parallel_work_) {
      pool_->run([&](int part) { function_(memory.data(), vars.data(), part, pool_->threads()); });
    } else {
      const FpGuard guard;
      function_(memory.data(), vars.data(), 0, 1);
    }
    if (checks_) raise_if_found(std::ranges::min(faults));
  }

  // Counted at the first request: many loaded kernels never run.
  std::int64_t work(const symbolic::Values& values) {
    std::call_once(counted_, [&] {
      work_ = get_lazyop_info(kernel_).flops;
      kernel_.reset();
    });
    return work_.evaluate(values);
  }

  std::shared_ptr<SharedObject> object_;
  KernelFunction function_;
  LinearKernel linear_;
  std::int64_t parallel_work_;
  LazyOpPtr kernel_;
  std::once_flag counted_;
  sint work_;
  std::shared_ptr<WorkerPool> pool_;
  std::size_t places_;
  bool checks_;
};

OptsChooser& chooser() {
  static OptsChooser one;
  return one;
}

class ClangDevice final : public Device {
  using Objects = std::unordered_map<std::string, std::shared_ptr<SharedObject>>;  // by key
  using Loaded = std::vector<std::shared_ptr<SharedObject>>;  // most recently used

 public:
  ClangDevice(std::string name, ClangOptions options)
      : Device(std::move(name), std::make_unique<HostAllocator>()),
        options_(std::move(options)),
        cache_(options_.cache_dir, options_.cache_size),
        pool_(std::make_shared<WorkerPool>(thread_count(options_.threads))) {
    options_.codegen = for_this_machine(options_);
  }

  std::vector<RunnerPtr> runners_of(const LazyOpPtr& kernel, std::span<const Opts> lists) {
    std::vector<Draft> drafts;
    for (const Opts& opts : lists) {
      CodegenOptions codegen = options_.codegen;
      codegen.opts = opts;
      drafts.push_back(draft(kernel, codegen));
    }
    return compiled(std::move(drafts));
  }

 private:
  static int thread_count(int wanted) {
    return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  std::vector<RunnerPtr> make_runners(std::span<const LazyOpPtr> kernels) override {
    std::vector<Draft> drafts;
    for (const LazyOpPtr& kernel : kernels) drafts.push_back(draft(kernel, codegen_for(kernel)));
    return compiled(std::move(drafts));
  }

  CodegenOptions codegen_for(const LazyOpPtr& kernel) const {
    CodegenOptions codegen = options_.codegen;
    if (options_.beam == 0 || codegen.opts || options_.fault != Fault::None) return codegen;
    if (!chooser())
      throw SystemError(
          "TOUCHSTONE_BEAM needs the search of layouts, which this program does not contain; unset "
          "it, or link touchstone_search and call install_search()");
    codegen.opts = chooser()(kernel, options_);
    return codegen;
  }

  std::vector<RunnerPtr> compiled(std::vector<Draft> drafts) {
    if (options_.keep)
      compile_missing(drafts);
    else
      compile_together(drafts);
    std::vector<RunnerPtr> runners;
    for (Draft& d : drafts)
      runners.push_back(std::make_shared<ClangRunner>(std::move(d), pool_, options_.parallel_work));
    return runners;
  }

  clang::Compiler& compiler() {
    if (!compiler_) compiler_.emplace(options_);
    return *compiler_;
  }

  Draft draft(const LazyOpPtr& kernel, const CodegenOptions& codegen) {
    Draft d;
    d.linear = guarded(linearize_with(options_.fault, kernel, codegen), variables_of(kernel));
    if (d.linear.steps.empty()) return d;
    d.kernel = kernel;
    d.function = render_vector_function(d.linear, kUnnamed);
    d.key = content_hash(options_.keep ? compiler().identity() + codegen::c_preamble_identity() +
                                             d.linear.name + d.function
                                       : d.function);
    d.symbol = (options_.keep ? d.linear.name : "kernel") + "_" + d.key;
    for (std::size_t at = 0; (at = d.function.find(kUnnamed, at)) != std::string::npos;)
      d.function.replace(at, kUnnamed.size(), d.symbol);
    return d;
  }

  void compile_missing(std::vector<Draft>& drafts) {
    Loaded recent;
    std::map<std::string, std::vector<Draft*>> missing;  // by key: equal code compiles once
    for (Draft& d : drafts)
      if (!d.key.empty() && !load(d, recent)) missing[d.key].push_back(&d);
    if (missing.empty()) return;
    std::vector<const Draft*> once;
    for (const auto& [key, same] : missing) once.push_back(same.front());
    compile_in_batches(once);
    for (const auto& [key, same] : missing)
      for (Draft* d : same)
        if (!load(*d, recent)) load_uncached(*d);
  }

  // Used if the cache returns a different object: another process removed ours, or the loader still
  // holds an object with that name.
  void load_uncached(Draft& d) {
    const TemporaryDirectory folder("touchstone-compile");
    const std::filesystem::path output = folder.path() / "kernels.so";
    const Draft* const one = &d;
    compile_to(std::span(&one, 1), output);
    d.object = std::make_shared<SharedObject>(output);
    loaded_[d.key] = d.object;
  }

  // Compiles without the cache. If one of several kernels is rejected, the others are kept until
  // they are requested.
  void compile_together(std::vector<Draft>& drafts) {
    if (drafts.size() > 1) compiled_.clear();
    std::vector<const Draft*> once;
    std::unordered_set<std::string> keys;
    for (const Draft& d : drafts)
      if (!d.key.empty() && !compiled_.contains(d.key) && keys.insert(d.key).second)
        once.push_back(&d);
    Objects made;
    int failures = 0;
    std::string refused;
    if (!once.empty()) compile_those_it_takes(once, made, failures, refused);
    for (Draft& d : drafts) {
      if (const auto it = made.find(d.key); it != made.end()) d.object = it->second;
      if (const auto it = compiled_.find(d.key); it != compiled_.end()) d.object = it->second;
    }
    if (refused.empty()) return;
    compiled_.merge(made);
    throw SystemError(refused);
  }

  void compile_those_it_takes(std::span<const Draft* const> drafts, Objects& made, int& failures,
                              std::string& refused) {
    const TemporaryDirectory folder("touchstone-compile");
    const std::filesystem::path output = folder.path() / "kernels.so";
    try {
      compile_to(drafts, output);
    } catch (const clang::CompilerLimit& e) {
      refused = e.what();  // the fault would appear once per part
      return;
    } catch (const SystemError& e) {
      if (++failures > kMostFailures || drafts.size() == 1) {
        if (refused.empty() || drafts.size() == 1) refused = e.what();
        return;
      }
      compile_those_it_takes(drafts.first(drafts.size() / 2), made, failures, refused);
      compile_those_it_takes(drafts.subspan(drafts.size() / 2), made, failures, refused);
      return;
    }
    const auto object = std::make_shared<SharedObject>(output);
    for (const Draft* d : drafts) made.emplace(d->key, object);
  }

  bool load(Draft& d, Loaded& recent) {
    auto& loaded = loaded_[d.key];
    d.object = loaded.lock();
    if (d.object) return true;
    // Kernels compiled together share an object. The symbol holds the key.
    if (const auto it =
            std::ranges::find_if(recent, [&](const auto& o) { return o->has(d.symbol); });
        it != recent.end()) {
      loaded = d.object = *it;
      return true;
    }
    const auto file = cache_.find(d.key);
    if (!file) return false;
    try {
      auto object = std::make_shared<SharedObject>(*file);
      object->function(d.symbol);
      d.object = std::move(object);
    } catch (const SystemError&) {
      return false;  // from another machine or otherwise unusable: recompile
    }
    loaded = d.object;
    recent.push_back(d.object);
    if (recent.size() > kMostRecent) recent.erase(recent.begin());
    return true;
  }

  // Runs compiler processes in parallel: at most one per thread, each with enough kernels.
  void compile_in_batches(std::span<const Draft* const> drafts) {
    const std::size_t wanted = (drafts.size() + kKernelsPerCompile - 1) / kKernelsPerCompile;
    const std::size_t batches = std::min(wanted, static_cast<std::size_t>(pool_->threads()));
    std::vector<std::future<void>> others;
    const auto slice = [&](std::size_t b) {
      const std::size_t begin = drafts.size() * b / batches;
      return drafts.subspan(begin, drafts.size() * (b + 1) / batches - begin);
    };
    for (std::size_t b = 1; b < batches; ++b)
      others.push_back(std::async(std::launch::async, [&, b] { compile_batch(slice(b)); }));
    compile_batch(slice(0));
    for (auto& other : others) other.get();
  }

  void compile_batch(std::span<const Draft* const> drafts) {
    std::vector<std::string> keys;
    for (const Draft* d : drafts) keys.push_back(d->key);
    const TemporaryDirectory folder("touchstone-compile");
    const std::filesystem::path output = folder.path() / "kernels.so";
    compile_to(drafts, output);
    cache_.store(keys, read_file(output));
  }

  void compile_to(std::span<const Draft* const> drafts, const std::filesystem::path& output) {
    std::string functions;
    for (const Draft* d : drafts) functions += "\n" + d->function;
    compiler().compile(codegen::c_preamble(functions) + functions, output);
  }

  ClangOptions options_;
  std::optional<clang::Compiler> compiler_;
  clang::ObjectCache cache_;
  std::shared_ptr<WorkerPool> pool_;
  std::unordered_map<std::string, std::weak_ptr<SharedObject>> loaded_;
  Objects compiled_;
};

}  // namespace

std::unique_ptr<Device> make_clang_device(std::string name, ClangOptions options) {
  return std::make_unique<ClangDevice>(std::move(name), std::move(options));
}

std::vector<RunnerPtr> make_clang_runners(const LazyOpPtr& kernel, std::span<const Opts> lists,
                                          const ClangOptions& options) {
  ClangOptions here = options;
  here.keep = false;
  return ClangDevice("CLANG", here).runners_of(kernel, lists);
}

void set_opts_chooser(OptsChooser given) { chooser() = std::move(given); }

void register_clang_device() {
  Device::add("CLANG", [] { return make_clang_device("CLANG", ClangOptions::from_environment()); });
}

void register_clang_device(const ClangOptions& options) {
  Device::add("CLANG", [options] { return make_clang_device("CLANG", options); });
}

}  // namespace touchstone

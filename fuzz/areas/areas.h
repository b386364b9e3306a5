#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Searches for a point where two expressions differ although the conditions hold. Returns the
/// point as text, or nothing. lib/prove provides one; it is optional.
using Refute = std::function<std::optional<std::string>(const std::string& a, const std::string& b,
                                                        const std::string& when)>;

/// Index expressions: the simplifier against evaluation of the expression as written.
///   value        the simplified text has the same value at every point
///   defined      the simplified text divides by zero only where the original does
///   refused      only expressions that divide by zero at every point are refused
///   given        simplification under assumptions preserves the value where they hold
///   answer       the answer to the question has the right value, correct bounds and no more nodes
///                than the original
///   bounds       every value is inside the bounds
///   tight        the bounds are attained if each variable is read once and divisions are outermost
///   steps        a derivation whose steps are all explained passes the checker
///   claim        no false claim, near miss or forgery passes the certificate checker
///   program      Program and its straight-line code give the same value
///   code         kernel code folds to the same value when the variables are constants
///   reads back   the simplified text parses to the node that it renders
///   swapped      exchanging operands of commutative operations gives the same node
///   history      earlier requests in a context do not change the result
///   substitute   replacing a part by a variable and substituting it back preserves the value; so
///                does replacing all variables at once
///   proof        `refute` finds no counterexample (one case in 8192)
std::unique_ptr<Area> make_symbolic_area(Refute refute = {});

/// Movement chains: trackers against arrays of addresses, moved step by step.
///   refused      every operation that fits is accepted
///   accepted     every operation that does not fit is refused
///   address      the tracker reads the array's address at every index
///   expression   the address and validity expressions agree, by index and by flat index
///   merged       simplify() and merging after each operation preserve the addresses; simplify()
///                adds no views
///   composed     composing the two halves of the chain preserves the addresses
///   substituted  replacing variables by others minus a constant preserves the addresses; a
///                replacement that may leave a variable's bounds is refused
///   strides      real_strides, real_size, axis_is_masked and the address range of a view agree
///                with the addresses
///   inverse      an inverse undoes the tracker, and `bijection` agrees with the addresses
///   contraction  of a reshape: groups of old axes that make the new ones are found exactly if they
///                exist; groups of reduced axes are not empty
///   movement     to_movement_ops rebuilds the tracker
///   text         the machine interface reads what it writes
std::unique_ptr<Area> make_view_area();

/// Seeds of drawn layouts, from 1 on; the first belongs to a variant.
inline constexpr std::uint64_t kDrawnLayouts = 6;

/// Backends under test: the candidate, the candidate with other options, and one too slow to run
/// every case.
struct KernelBackends {
  std::unique_ptr<KernelBackend> candidate;
  std::vector<std::unique_ptr<KernelBackend>> variants;
  /// Variants with other layout seeds, run only in full checks: the kernel's hash draws the layout,
  /// so a shrunk kernel gets another layout.
  std::vector<std::unique_ptr<KernelBackend>> layouts;
  std::unique_ptr<KernelBackend> slow;  // may be null
  bool judge_all = false;               // ask the oracle even if the bits are the reference's
  std::uint64_t vary_every = 4;         // a variant runs one case in this many
};

/// Kernels with their inputs, as JSON on one line: a backend against the interpreted device.
///   verdict      the answer is legal: it has the reference's bits or the oracle accepts it (one
///                case in 16 always goes to the oracle)
///   broken       a foreign backend does not crash, hang or reach outside its buffers
///   unusable     a foreign backend's reply is well-formed and belongs to the request
///   refused      a device of ours takes every kernel
///   checked      a position outside its table is the error that the reference reports
///   options      the answer is legal under other compiler options, chosen by the case's text (one
///                case in `vary_every`)
///   slow         the slow backend's answer is legal (one case in 64)
///   poison       the answer is legal with NaN in every element that no index reads, and with
///                guarded memory beside the buffers (one case in 5)
///   in place     the answer is legal if the output shares an input's memory, and the memory behind
///                it is unchanged (one case in 12)
///   bound        several variables may be bound one by one, in any order (one case in 2)
///   round trip   kernel.json reads back as the same kernel
///   threads      with one more, long axis the reference has the same bits in 1, 2 and 7 threads
///                (one case in 512)
///   truth        the reference's answer to a small kernel is its definition's, in exact arithmetic
///                (one case in 32)
///   refuses      where only one answer is legal, the oracle accepts it and refuses a change of one
///                bit; it refuses answers far beyond any rounding error everywhere (one case in 24)
///   reads        our code for the kernel reads each element no more often than its reduces need
///                (reads_check.h; one case in 8)
///   inside       our code, run step by step, accesses only its buffers and arrays, also with drawn
///                opts (code_run.h; one case in 16)
///   profiles     the oracle accepts what a profile just allows and refuses the next value beyond
///                (profile_check.h; one case in 16)
///   casts, sums  drawn casts and sums have their defined values (number_check.h; one case in 16)
std::unique_ptr<Area> make_kernel_area(KernelBackends backends);

/// Compilers that also run programs. Libtcc: one case in four, where it is built in. All: clang -O0
/// in three threads as well, for one case in 256.
enum class Compilers : std::uint8_t { None, Libtcc, All };

/// Programs over LazyBuffers on the interpreted device.
///   fusion       in every mode the program has the bits of kernels made without lib/lazy and
///                lib/kernelize (by_definition). Modes: realized one by one, at the end, as
///                written, or each statement in its own memory; each OPT and switches chosen by the
///                text (device/config.h); inputs in host memory at any strides; replayed by a
///                TinyJit captured on other values; up to four variable sizes where movements allow
///                them
///   tcc, clang   run by a compiler, in the mode the text chooses, every kernel's answer is legal;
///                if each has the reference's bits, so has the program
///   work         no reduce is computed twice
///   both         two values wanted at once are right (one case in 8)
///   kept         values marked by contiguous() get memory
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_lazy_area(Compilers compilers = Compilers::Libtcc);

/// The same programs, scheduled by rewriting (SCHEDULER=kernelize), with its switches.
///   fusion       in every mode the program has the bits of kernels made without lib/lazy and
///                lib/kernelize. Modes: realized at the end or as written, each statement in
///                its own memory, variable sizes, switches and buffer limit chosen by the text
///   tcc, clang   as above
///   work         ranges do not increase the elements loaded and stored, unless the program
///                gathers; an extra kernel moves fewer bytes; and ranges do not increase the terms
///                reduced, except of constants and around padding (schedule_work.h)
///   multi        on 1 to 5 devices, sharded along any axes, the bits are those of one device that
///                adds the shards in the declared order, naively and as a ring
///   both         two values wanted at once are right (one case in 8)
///   graph        as a graph of UOps with two wanted values and in-place writes, the program has
///                its defined values (graph_check.h; one case in 16)
///   limit        no kernel has more than MAX_KERNEL_BUFFERS buffers, unless one op reads more
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_kernelize_area(Compilers compilers = Compilers::Libtcc);

/// Kernels that read a few elements of a buffer of more than 2^31 or 2^32, by definition
/// (far_case.h).
///   reference    the reference's answer
///   tcc, clang   the compilers' answers
///   long         a loop of more than 2^31 iterations over a broadcast element, on clang -O2 (one
///                case in 512)
///   refused      no kernel is refused
std::unique_ptr<Area> make_far_area(Compilers compilers = Compilers::Libtcc);

/// Graphs of UOps and random rules for them: lib/uop against matching and rewriting as defined
/// (definitions/rewriting.h).
///   refused      exactly the rules that can never match or be called are refused
///   table        nodes with equal parts are one node, and none outlives the case
///   toposort     sources come before users, left to right, with and without a gate
///   match        for every node: the rule, its result and every earlier function call agree
///   rewrite      the graph (sources first or outer nodes first), every entry of a map composed
///                with the map before it, and substitutions agree
///   told         a recorder sees every use of a rule, in order
///   metadata     rewritten nodes keep their metadata, each origin once
///   endless      exactly the rewrites that do not end are errors; the error names a rule to blame
///                and a recurring node
std::unique_ptr<Area> make_rewrite_area();

/// Calls of single functions, layers, losses and optimizers of the tensor library, in every type,
/// against their definitions (call_check.h): refused, form, value, gradient; definitions of kernels
/// likewise, made a kernel and computed by the reference; and programs over Tensors in float64,
/// differentiated.
///   legal        the oracle accepts a definition's result in long double, rounded once
///   changed      the oracle refuses it with one element changed, unless its verdict is WEAK
///   gradient     agrees with finite differences where the function is smooth
///   early        realizing each statement at once changes no bit
///   refused      no statement that fits is refused
std::unique_ptr<Area> make_tensor_area();

/// Array files, .npy, .npz and .safetensors, against the formats as defined
/// (definitions/file_formats.h), in the layouts that writers use.
///   refused      a valid file is read
///   read         reading gives the file's arrays
///   taken        a file with one damage is refused
///   written      the definition's reader reads our files
///   file         the same from disk, array by array (one case in 16)
///   part         reading only the first elements of an array (one case in 16)
std::unique_ptr<Area> make_file_area();

/// Random streams by seed and position, against a second Threefry.
///   bits         the words of the stream
///   uniform      float32 numbers made of them, on the host and by a kernel
///   integers     randint stays in its range and consumes the words in order
///   shuffle      a permutation holds every number once; equal seeds give equal permutations
std::unique_ptr<Area> make_random_area();

}  // namespace touchstone::fuzz

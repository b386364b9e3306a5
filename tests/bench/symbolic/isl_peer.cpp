#include "isl_peer.h"

#include <algorithm>
#include <map>

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

namespace touchstone::symbolic {

namespace {

std::size_t size_of(isl_ast_expr* e) {
  std::size_t n = 1;
  if (isl_ast_expr_get_type(e) == isl_ast_expr_op) {
    const int args = isl_ast_expr_op_get_n_arg(e);
    for (int i = 0; i < args; ++i) {
      isl_ast_expr* arg = isl_ast_expr_op_get_arg(e, i);
      n += size_of(arg);
      isl_ast_expr_free(arg);
    }
  }
  return n;
}

}  // namespace

/// A part is a function, or a set if it is a condition.
struct IslPeer::Work {
  isl_pw_aff* value = nullptr;
  isl_set* set = nullptr;
};

IslPeer::IslPeer(const Question& question) : ctx_(isl_ctx_alloc()), question_(question) {
  isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
  root_ = parse_expr(exprs_, question.text);
  parts_ = exprs_.parts(root_);
}

IslPeer::~IslPeer() { isl_ctx_free(ctx_); }

bool IslPeer::run() {
  constexpr unsigned long kMostOperations = 20'000'000;
  isl_ctx_reset_operations(ctx_);
  isl_ctx_set_max_operations(ctx_, kMostOperations);
  const auto n = static_cast<unsigned>(question_.variables.size());
  isl_space* space = isl_space_set_alloc(ctx_, 0, n);
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space));
  isl_set* box = isl_set_universe(isl_space_copy(space));
  std::map<std::string, unsigned> place;
  for (unsigned i = 0; i < n; ++i) {
    const auto& [name, range] = question_.variables[i];
    place[name] = i;
    if (range.lo)
      box = isl_set_lower_bound_val(box, isl_dim_set, i,
                                    isl_val_read_from_str(ctx_, range.lo->str().c_str()));
    if (range.hi)
      box = isl_set_upper_bound_val(box, isl_dim_set, i,
                                    isl_val_read_from_str(ctx_, range.hi->str().c_str()));
  }
  std::map<Expr, Work> done;
  const auto val = [&](Expr e) {
    return isl_val_read_from_str(ctx_, exprs_.value(e).str().c_str());
  };
  for (const Expr e : parts_) {
    Work w;
    const auto value = [&](std::size_t i) {
      return isl_pw_aff_copy(done.at(exprs_.arg(e, i)).value);
    };
    switch (exprs_.op(e)) {
      case ExprOp::Constant: w.value = isl_pw_aff_val_on_domain(isl_set_copy(box), val(e)); break;
      case ExprOp::Variable:
        w.value = isl_pw_aff_from_aff(isl_aff_var_on_domain(isl_local_space_copy(local),
                                                            isl_dim_set, place.at(exprs_.name(e))));
        break;
      case ExprOp::Add: w.value = isl_pw_aff_add(value(0), value(1)); break;
      case ExprOp::Sub: w.value = isl_pw_aff_sub(value(0), value(1)); break;
      case ExprOp::Mul: w.value = isl_pw_aff_mul(value(0), value(1)); break;
      case ExprOp::Div:
        w.value = isl_pw_aff_floor(isl_pw_aff_scale_down_val(value(0), val(exprs_.arg(e, 1))));
        break;
      case ExprOp::Mod: w.value = isl_pw_aff_mod_val(value(0), val(exprs_.arg(e, 1))); break;
      case ExprOp::Lt: w.set = isl_pw_aff_lt_set(value(0), value(1)); break;
      case ExprOp::Ge: w.set = isl_pw_aff_ge_set(value(0), value(1)); break;
      default:  // And
        w.set = isl_set_intersect(isl_set_copy(done.at(exprs_.arg(e, 0)).set),
                                  isl_set_copy(done.at(exprs_.arg(e, 1)).set));
    }
    done.emplace(e, w);
  }
  Work result = done.at(root_);
  isl_ast_expr* printed = nullptr;
  isl_ast_build* build =
      size_ == 0 ? isl_ast_build_from_context(isl_set_copy(box)) : nullptr;  // printed once
  bool reached = false;
  if (result.set) {
    isl_set* set = isl_set_gist(
        isl_set_coalesce(isl_set_intersect(isl_set_copy(result.set), isl_set_copy(box))),
        isl_set_copy(box));
    reached = set != nullptr;
    if (build && reached) printed = isl_ast_build_expr_from_set(build, isl_set_copy(set));
    isl_set_free(set);
  } else {
    isl_pw_aff* value = isl_pw_aff_gist(isl_pw_aff_coalesce(isl_pw_aff_intersect_domain(
                                            isl_pw_aff_copy(result.value), isl_set_copy(box))),
                                        isl_set_copy(box));
    reached = value != nullptr;
    if (build && reached) printed = isl_ast_build_expr_from_pw_aff(build, isl_pw_aff_copy(value));
    isl_pw_aff_free(value);
  }
  if (printed) size_ = size_of(printed);
  isl_ast_expr_free(printed);
  isl_ast_build_free(build);
  for (const auto& [e, w] : done) {
    isl_pw_aff_free(w.value);
    isl_set_free(w.set);
  }
  isl_set_free(box);
  isl_local_space_free(local);
  isl_space_free(space);
  return reached;
}

}  // namespace touchstone::symbolic

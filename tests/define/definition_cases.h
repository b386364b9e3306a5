// Formulas, each with the loops that define it.
#pragma once

#include "loops.h"

namespace touchstone::define {

inline std::vector<Case> elementwise_cases() {
  std::vector<Case> all = {
      {"exp2(x[3,5]:T)", each([](Real x) { return std::exp2(x); })},
      {"log2(abs(x[7]:T) + 1)", each([](Real x) { return std::log2(std::abs(x) + 1); })},
      {"sin(x[4]:T)", each([](Real x) { return std::sin(x); })},
      {"sqrt(x[4]:T * x)", each([](Real x) { return std::abs(x); })},
      {"recip(x[9]:T * x + 1)", each([](Real x) { return 1 / (x * x + 1); })},
      {"neg(x[2,1]:T)", each([](Real x) { return -x; })},
      {"-x[2,1]:T", each([](Real x) { return -x; })},
      {"add(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x + y; })},
      {"sub(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x - y; })},
      {"mul(x[5]:T, y[5]:T)", both([](Real x, Real y) { return x * y; })},
      {"div(x[5]:T, y[5]:T*y + 1)", both([](Real x, Real y) { return x / (y * y + 1); })},
      {"mod(x[5]:T, y[5]:T*y + 1)", both([](Real x, Real y) { return std::fmod(x, y * y + 1); })},
      {"xor(cast(x[5]:T, i32), cast(y[5]:T, i32))", both([](Real x, Real y) {
         return static_cast<Real>(static_cast<int>(x) ^ static_cast<int>(y));
       })},
      {"maximum(x[6]:T, y[6]:T)", both([](Real x, Real y) { return x > y ? x : y; })},
      {"minimum(x[6]:T, y[6]:T)", both([](Real x, Real y) { return x < y ? x : y; })},
      {"mulacc(x[6]:T, y[6]:T, x)", both([](Real x, Real y) { return x * y + x; })},
      {"where(cmplt(x[6]:T, y[6]:T), x, 2*y)",
       both([](Real x, Real y) { return x < y ? x : 2 * y; })},
      {"where(cmpeq(x[6]:T, y[6]:T), 1, x)", both([](Real x, Real y) { return x == y ? 1 : x; })},
      {"where(x[9]:T <= y[9]:T, 1.5, x)",
       both([](Real x, Real y) { return x <= y ? Real(1.5) : x; })},
      {"where(x[9]:T >= 0.5, y[9]:T, x)",
       both([](Real x, Real y) { return x >= Real(0.5) ? y : x; })},
      {"where(x[9]:T != 1, y[9]:T, 3)", both([](Real x, Real y) { return x != 1 ? y : 3; })},
      {"where(x[9]:T > y[9]:T, y, -x)", both([](Real x, Real y) { return x > y ? y : -x; })},
      {"abs(x[8]:T)", each([](Real x) { return std::abs(x); })},
      {"exp(x[8]:T)", each([](Real x) { return std::exp(x); })},
      {"log(x[8]:T*x + 2)", each([](Real x) { return std::log(x * x + 2); })},
      {"rsqrt(x[8]:T*x + 2)", each([](Real x) { return 1 / std::sqrt(x * x + 2); })},
      {"sigmoid(x[8]:T)", each(sigmoid_of)},
      {"tanh(x[8]:T)", each([](Real x) { return std::tanh(x); })},
      {"relu(x[8]:T)", each([](Real x) { return x > 0 ? x : 0; })},
      {"silu(x[8]:T)", each([](Real x) { return x * sigmoid_of(x); })},
      {"gelu(x[8]:T)", each([](Real x) {
         return x / 2 *
                (1 +
                 std::tanh(std::sqrt(2 / std::acos(Real(-1))) * (x + Real(0.044715) * x * x * x)));
       })},
      {"cast(cast(x[8]:T, to=i32), T)", each([](Real x) { return std::trunc(x); })},
      {"1 + 2*x[4]:T - (3 - x)/2", each([](Real x) { return 1 + 2 * x - (3 - x) / 2; })},
  };
  return all;
}

inline std::vector<Case> row_cases() {
  const auto normal = [](Real eps) {
    return [eps](const std::vector<Real>& row, std::size_t i) {
      return (row[i] - mean_of(row)) / std::sqrt(variance(row, 0) + eps);
    };
  };
  std::vector<Case> all;
  for (const char* shape : {"3,5", "1,1", "4,1", "1,7", "2,3,4", "6", "0,4", "2,33"}) {
    const auto add = [&](std::string before, std::string after, Loops loops) {
      all.push_back({before + "x[" + shape + "]:T" + after, std::move(loops)});
    };
    add("sum(", ", axis=-1)", of_rows(total));
    add("max(", ", axis=-1)", of_rows(largest));
    add("min(", ", axis=-1)", of_rows([](const auto& row) {
          Real m = INFINITY;
          for (const Real x : row) m = std::min(m, x);
          return m;
        }));
    add("mean(", ", -1)", of_rows(mean_of));
    add("var(", ", axis=-1)", of_rows([](const auto& row) { return variance(row, 0); }));
    add("logsumexp(", ")", of_rows([](const auto& row) { return std::log(exponentials(row)); }));
    add("softmax(", ")", by_rows([](const auto& row, std::size_t i) {
          return std::exp(row[i]) / exponentials(row);
        }));
    add("log_softmax(", ")", by_rows([](const auto& row, std::size_t i) {
          return row[i] - std::log(exponentials(row));
        }));
    add("layer_norm(", ")", by_rows(normal(1e-5L)));
    add("rms_norm(", ", eps=0.25)", by_rows([](const auto& row, std::size_t i) {
          Real s = 0;
          for (const Real x : row) s += x * x;
          return row[i] / std::sqrt(s / static_cast<Real>(row.size()) + Real(0.25));
        }));
    add("cumsum(", ")", by_rows([](const auto& row, std::size_t i) {
          Real s = 0;
          for (std::size_t j = 0; j <= i; ++j) s += row[j];
          return s;
        }));
    add("flip(", ", axis=-1)",
        by_rows([](const auto& row, std::size_t i) { return row[row.size() - 1 - i]; }));
    add("roll(", ", shift=2)", by_rows([](const auto& row, std::size_t i) {
          return row[(i + 2 * row.size() - 2) % row.size()];
        }));
  }
  all.push_back({"var(x[3,4]:T, axis=-1, correction=1)",
                 of_rows([](const auto& row) { return variance(row, 1); })});
  all.push_back({"layer_norm(x[2,6]:T, w[6]:T, b[6]:T, eps=0.5)", [&](const auto& in) {
                   const Values y = by_rows([](const auto& row, std::size_t i) {
                     return (row[i] - mean_of(row)) / std::sqrt(variance(row, 0) + Real(0.5));
                   })(in);
                   return filled(y.shape, [&](const Index& at) {
                     return y(at) * in[1]({at[1]}) + in[2]({at[1]});
                   });
                 }});
  all.push_back(
      {"batch_norm(x[2,3,4]:T, m[3]:T, v[3]:T * v, w[3]:T, b[3]:T, eps=0.5)", [](const auto& in) {
         return filled({2, 3, 4}, [&](const Index& at) {
           const Index c{at[1]};
           return (in[0](at) - in[1](c)) / std::sqrt(in[2](c) * in[2](c) + Real(0.5)) * in[3](c) +
                  in[4](c);
         });
       }});
  all.push_back({"batch_norm(x[5,2]:T, m[2]:T, v[2]:T * v)", [](const auto& in) {
                   return filled({5, 2}, [&](const Index& at) {
                     const Index c{at[1]};
                     return (in[0](at) - in[1](c)) / std::sqrt(in[2](c) * in[2](c) + Real(1e-5L));
                   });
                 }});
  all.push_back({"sum(x[3,4,2]:T)", [](const auto& in) { return Values{{}, {total(in[0].v)}}; }});
  all.push_back({"sum(x[3,4,2]:T, axis=[0,2], keep=1)", [](const auto& in) {
                   return filled({1, 4, 1}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i < 3; ++i)
                       for (std::int64_t j = 0; j < 2; ++j) s += in[0]({i, at[1], j});
                     return s;
                   });
                 }});
  all.push_back({"softmax(x[4,3]:T, axis=0)", [](const auto& in) {
                   return filled({4, 3}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i < 4; ++i) s += std::exp(in[0]({i, at[1]}));
                     return std::exp(in[0](at)) / s;
                   });
                 }});
  all.push_back({"cumsum(x[4,3]:T, axis=0)", [](const auto& in) {
                   return filled({4, 3}, [&](const Index& at) {
                     Real s = 0;
                     for (std::int64_t i = 0; i <= at[0]; ++i) s += in[0]({i, at[1]});
                     return s;
                   });
                 }});
  all.push_back(
      {"pad(softmax(x[2,3]:T), before=[1,0], after=[0,2])", [](const auto& in) {
         const Values p = by_rows([](const auto& row, std::size_t i) {
           return std::exp(row[i]) / exponentials(row);
         })(in);
         return filled({3, 5}, [&](const Index& at) { return or_zero(p, {at[0] - 1, at[1]}); });
       }});
  return all;
}

inline std::vector<Case> product_cases() {
  return {
      {"matmul(a[3,4]:T, b[4,5]:T)", product_loops(false, false)},
      {"matmul(a[1,1]:T, b[1,1]:T)", product_loops(false, false)},
      {"matmul(a[3,0]:T, b[0,2]:T)", product_loops(false, false)},
      {"matmul(a[0,3]:T, b[3,2]:T)", product_loops(false, false)},
      {"matmul(a[4,3]:T, b[4,5]:T, transpose_a=1)", product_loops(true, false)},
      {"matmul(a[3,4]:T, b[5,4]:T, transpose_b=1)", product_loops(false, true)},
      {"matmul(a[2,3,4]:T, b[4,2]:T)",
       [](const auto& in) {
         return filled({2, 3, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], at[1], i}) * in[1]({i, at[2]});
           return s;
         });
       }},
      {"matmul(a[2,1,3,4]:T, b[3,4,2]:T)",
       [](const auto& in) {
         return filled({2, 3, 3, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i)
             s += in[0]({at[0], 0, at[2], i}) * in[1]({at[1], i, at[3]});
           return s;
         });
       }},
      {"matmul(a[4]:T, b[4]:T)",
       [](const auto& in) {
         Real s = 0;
         for (std::int64_t i = 0; i < 4; ++i) s += in[0]({i}) * in[1]({i});
         return Values{{}, {s}};
       }},
      {"matmul(a[2,4]:T, b[4]:T)",
       [](const auto& in) {
         return filled({2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], i}) * in[1]({i});
           return s;
         });
       }},
      {"matmul(a[4]:T, b[4,2]:T)",
       [](const auto& in) {
         return filled({2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({i}) * in[1]({i, at[0]});
           return s;
         });
       }},
      {"linear(x[3,4]:T, w[2,4]:T, b[2]:T)",
       [](const auto& in) {
         return filled({3, 2}, [&](const Index& at) {
           Real s = in[2]({at[1]});
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], i}) * in[1]({at[1], i});
           return s;
         });
       }},
      {"relu(matmul(a[3,2]:T, b[2,4]:T) + c[4]:T)",
       [](const auto& in) {
         const Values p = product(in[0], in[1]);
         return filled({3, 4},
                       [&](const Index& at) { return std::max(p(at) + in[2]({at[1]}), Real(0)); });
       }},
      {"attention_scores(q[3,4]:T, k[5,4]:T)",
       [](const auto& in) { return scores(in, false, Real(0.5)); }},
      {"attention(q[3,4]:T, k[5,4]:T, v[5,2]:T)", attention_loops(false)},
      {"attention(q[4,2]:T, k[4,2]:T, v[4,3]:T, causal=1)", attention_loops(true)},
      {"attention(q[1,1]:T, k[1,1]:T, v[1,1]:T, causal=1, scale=0.25)",
       attention_loops(true, Real(0.25))},
      {"softmax(attention_scores(q[4,2]:T, k[4,2]:T, causal=1))",
       [](const auto& in) {
         return by_rows([](const auto& row, std::size_t i) {
           return std::exp(row[i]) / exponentials(row);
         })({scores(in, true, 1 / std::sqrt(Real(2)))});
       }},
      {"cross_entropy(x[5,4]:T, target[5]:i32)",
       [](const auto& in) {
         return filled({5}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += std::exp(in[0]({at[0], i}));
           const auto target = static_cast<std::int64_t>(in[1](at));
           // No such class: the sum keeps no term.
           return target < 0 || target >= 4 ? Real(0) : std::log(s) - in[0]({at[0], target});
         });
       }},
  };
}

inline std::vector<Case> window_cases() {
  return {
      {"conv2d(x[2,3,5,6]:T, w[4,3,2,3]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(x[1,2,5,5]:T, w[2,2,3,3]:T, b[2]:T, padding=1)", conv2d_loops({1, 1, 1, 1})},
      {"conv2d(x[1,4,6,5]:T, w[6,2,2,2]:T, stride=2, padding=1, groups=2)",
       conv2d_loops({2, 1, 1, 2})},
      {"conv2d(x[2,2,7,7]:T, w[2,1,2,2]:T, stride=3, padding=2, dilation=2, groups=2)",
       conv2d_loops({3, 2, 2, 2})},
      {"conv2d(x[1,1,1,1]:T, w[1,1,1,1]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(x[0,1,3,3]:T, w[1,1,2,2]:T)", conv2d_loops({1, 0, 1, 1})},
      {"conv2d(relu(x[1,2,4,4]:T), w[1,2,2,2]:T, padding=1)",
       [](const auto& in) {
         std::vector<Values> cut = in;
         for (Real& x : cut[0].v) x = std::max(x, Real(0));
         return conv2d_loops({1, 1, 1, 1})(cut);
       }},
      {"conv1d(x[2,3,7]:T, w[2,3,3]:T)", conv1d_loops({1, 0, 1, 1})},
      {"conv1d(x[1,4,8]:T, w[4,1,2]:T, stride=2, padding=1, dilation=3, groups=4)",
       conv1d_loops({2, 1, 3, 4})},
      {"avg_pool2d(x[2,4,5]:T, size=2)", pool2d_loops(2, 1, 0, false)},
      {"avg_pool2d(x[1,2,6,6]:T, size=3, stride=2, padding=1)", pool2d_loops(3, 2, 1, false)},
      {"max_pool2d(x[2,4,5]:T, size=2)", pool2d_loops(2, 1, 0, true)},
      {"max_pool2d(x[1,2,6,6]:T, size=[3,3], stride=[2,2], padding=[1,1])",
       pool2d_loops(3, 2, 1, true)},
      {"max_pool1d(x[2,7]:T, size=3, stride=2)",
       [](const auto& in) {
         return filled({2, 3}, [&](const Index& at) {
           Real m = -INFINITY;
           for (std::int64_t i = 0; i < 3; ++i) m = std::max(m, in[0]({at[0], at[1] * 2 + i}));
           return m;
         });
       }},
      {"avg_pool1d(x[2,7]:T, size=4, stride=3)",
       [](const auto& in) {
         return filled({2, 2}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) s += in[0]({at[0], at[1] * 3 + i});
           return s / 4;
         });
       }},
      {"windows(x[3,8]:T, size=3, stride=2, dilation=2)",
       read_at({3, 2, 3},
               [](const Index& at) {
                 return Index{at[0], at[1] * 2 + at[2] * 2};
               })},
  };
}

// An element of a table's row; 0 if there is no such row.
inline Real row_of(const Values& table, std::int64_t rows, Real row, std::int64_t at) {
  return row < 0 || row >= static_cast<Real>(rows) ? 0
                                                   : table({static_cast<std::int64_t>(row), at});
}

inline std::vector<Case> read_cases() {
  return {
      {"reshape(x[4,6]:T, [3,-1])", read_at({3, 8},
                                            [](const Index& at) {
                                              const std::int64_t flat = at[0] * 8 + at[1];
                                              return Index{flat / 6, flat % 6};
                                            })},
      {"reshape(transpose(x[4,6]:T), [8,3])", read_at({8, 3},
                                                      [](const Index& at) {
                                                        const std::int64_t flat = at[0] * 3 + at[1];
                                                        return Index{flat % 4, flat / 4};
                                                      })},
      {"permute(x[2,3,4]:T, order=[2,0,1])", read_at({4, 2, 3},
                                                     [](const Index& at) {
                                                       return Index{at[1], at[2], at[0]};
                                                     })},
      {"transpose(x[3,2]:T)", read_at({2, 3},
                                      [](const Index& at) {
                                        return Index{at[1], at[0]};
                                      })},
      {"transpose(x[3,2,4]:T, a=0, b=2)", read_at({4, 2, 3},
                                                  [](const Index& at) {
                                                    return Index{at[2], at[1], at[0]};
                                                  })},
      {"expand(x[3,1]:T, shape=[2,3,4])", read_at({2, 3, 4},
                                                  [](const Index& at) {
                                                    return Index{at[1], 0};
                                                  })},
      {"pad(x[3,2]:T, before=[1,0], after=[2,3])", read_at({6, 5},
                                                           [](const Index& at) {
                                                             return Index{at[0] - 1, at[1]};
                                                           })},
      {"pad(x[4]:T, before=2, after=1, value=7)",
       [](const auto& in) {
         return filled({7}, [&](const Index& at) {
           return at[0] < 2 || at[0] >= 6 ? Real(7) : in[0]({at[0] - 2});
         });
       }},
      {"slice(x[5,6]:T, begin=[1,2], end=[4,6])", read_at({3, 4},
                                                          [](const Index& at) {
                                                            return Index{at[0] + 1, at[1] + 2};
                                                          })},
      {"slice(x[5,6]:T, begin=2, end=2)", read_at({5, 0}, [](const Index& at) { return at; })},
      {"stride(x[5,7]:T, steps=[2,-3])", read_at({3, 3},
                                                 [](const Index& at) {
                                                   return Index{at[0] * 2, 6 - at[1] * 3};
                                                 })},
      {"flip(x[3,4]:T)", read_at({3, 4},
                                 [](const Index& at) {
                                   return Index{2 - at[0], 3 - at[1]};
                                 })},
      {"roll(x[5,2]:T, shift=-1, axis=0)", read_at({5, 2},
                                                   [](const Index& at) {
                                                     return Index{(at[0] + 1) % 5, at[1]};
                                                   })},
      {"repeat(x[3,2]:T, times=3)", read_at({3, 6},
                                            [](const Index& at) {
                                              return Index{at[0], at[1] / 3};
                                            })},
      {"repeat(x[3,2]:T, times=2, axis=0)", read_at({6, 2},
                                                    [](const Index& at) {
                                                      return Index{at[0] / 2, at[1]};
                                                    })},
      {"concat(x[2,3]:T, y[4,3]:T)",
       [](const auto& in) {
         return filled({6, 3}, [&](const Index& at) {
           return at[0] < 2 ? in[0](at) : in[1]({at[0] - 2, at[1]});
         });
       }},
      {"concat(x[2,1]:T, exp(y[2,3]:T), axis=-1)",
       [](const auto& in) {
         return filled({2, 4}, [&](const Index& at) {
           return at[1] < 1 ? in[0](at) : std::exp(in[1]({at[0], at[1] - 1}));
         });
       }},
      {"as_strided(x[4,5]:T, shape=[3,4], strides=[6,-1], offset=3)",
       read_at({3, 4},
               [](const Index& at) {
                 const std::int64_t flat = 3 + at[0] * 6 - at[1];
                 return Index{flat / 5, flat % 5};
               })},
      {"diagonal(x[4,6]:T)", read_at({4},
                                     [](const Index& at) {
                                       return Index{at[0], at[0]};
                                     })},
      {"sum(diagonal(exp(x[5,3]:T)))",
       [](const auto& in) {
         Real s = 0;
         for (std::int64_t i = 0; i < 3; ++i) s += std::exp(in[0]({i, i}));
         return Values{{}, {s}};
       }},
      {"tril(x[4,5]:T)",
       [](const auto& in) {
         return filled({4, 5}, [&](const Index& at) { return at[1] <= at[0] ? in[0](at) : 0; });
       }},
      {"tril(x[2,3,4]:T, diagonal=-1)",
       [](const auto& in) {
         return filled({2, 3, 4},
                       [&](const Index& at) { return at[2] <= at[1] - 1 ? in[0](at) : 0; });
       }},
      {"triu(x[4,3]:T, diagonal=1)",
       [](const auto& in) {
         return filled({4, 3}, [&](const Index& at) { return at[1] >= at[0] + 1 ? in[0](at) : 0; });
       }},
      {"triu(x[2,2]:T, diagonal=-9)", [](const auto& in) { return in[0]; }},
      {"tril(x[2,2]:T, diagonal=-9)",
       [](const auto&) {
         return filled({2, 2}, [](const Index&) { return Real(0); });
       }},
      {"arange(size=5, dtype=T) * x[1]:T",
       [](const auto& in) {
         return filled({5}, [&](const Index& at) { return static_cast<Real>(at[0]) * in[0].v[0]; });
       }},
      {"one_hot(index[4]:i32, classes=3, dtype=T)",
       [](const auto& in) {
         return filled({4, 3}, [&](const Index& at) {
           return in[0]({at[0]}) == static_cast<Real>(at[1]) ? 1 : 0;
         });
       }},
      {"gather(table[5,3]:T, index[2,4]:i32)",
       [](const auto& in) {
         return filled({2, 4, 3}, [&](const Index& at) {
           return row_of(in[0], 5, in[1]({at[0], at[1]}), at[2]);
         });
       }},
      {"gather(table[5,3]:T * 2, index[4]:i8)",
       [](const auto& in) {
         return filled(
             {4, 3}, [&](const Index& at) { return 2 * row_of(in[0], 5, in[1]({at[0]}), at[1]); });
       }},
      {"transpose(gather(transpose(flip(table[3,5]:T, axis=0)), index[2,4]:i64), 0, 2)",
       [](const auto& in) {
         return filled({3, 4, 2}, [&](const Index& at) {
           const Real row = in[1]({at[2], at[1]});
           return row < 0 || row >= 5 ? 0 : in[0]({2 - at[0], static_cast<std::int64_t>(row)});
         });
       }},
      {"exp(pad(gather(table[5,3]:T, 4 - index[4]:i32), before=[1,0], after=[0,2]))",
       [](const auto& in) {
         return filled({5, 5}, [&](const Index& at) {
           return at[0] < 1 || at[1] > 2
                      ? 1
                      : std::exp(row_of(in[0], 5, 4 - in[1]({at[0] - 1}), at[1]));
         });
       }},
      {"as_strided(gather(table[5,3]:T, index[2]:i32), shape=[3,2], strides=[-2,1], offset=4)",
       [](const auto& in) {
         return filled({3, 2}, [&](const Index& at) {
           const std::int64_t flat = 4 - 2 * at[0] + at[1];
           return row_of(in[0], 5, in[1]({flat / 3}), flat % 3);
         });
       }},
      {"sum(reshape(gather(slice(table[7,3]:T, begin=[1,0], end=[6,2]), index[3,2]:i16), [4,3]) "
       "* x[4,3]:T, axis=0)",
       [](const auto& in) {
         return filled({3}, [&](const Index& at) {
           Real s = 0;
           for (std::int64_t i = 0; i < 4; ++i) {
             const std::int64_t flat = i * 3 + at[0];
             const Real row = in[1]({flat / 4, flat / 2 % 2});
             s += row < 0 || row >= 5 ? 0 : row_of(in[0], 7, row + 1, flat % 2) * in[2]({i, at[0]});
           }
           return s;
         });
       }},
      {"max(gather(table[1,3]:T, index[4,1]:i32), axis=-1)",
       [](const auto& in) {
         return filled({4, 1}, [&](const Index& at) {
           Real most = row_of(in[0], 1, in[1](at), 0);
           for (std::int64_t i = 1; i < 3; ++i)
             most = std::max(most, row_of(in[0], 1, in[1](at), i));
           return most;
         });
       }},
      {"gather(table[0,3]:T, index[2]:i32)",
       [](const auto&) {
         return filled({2, 3}, [](const Index&) { return Real(0); });
       }},
  };
}

}  // namespace touchstone::define

# MUL: |fl(x y) - a b| <= p + u (|a b| + p) + eta, p = |a| eb + |b| ea + ea eb, where x and y are
# within ea and eb of a and b. At |a| <= 3, |b| <= 5, ea = 2^-10, eb = 2^-12 in float32:
# p = 3 2^-12 + 5 2^-10 + 2^-22, the bound < 0.00561636719796.
@fl = float<24, -149, ne>;
p = a * (y - b) + b * (x - a) + (x - a) * (y - b);

{ |a| <= 3 /\ |b| <= 5 /\ |x - a| <= 1b-10 /\ |y - b| <= 1b-12
  -> |fl(x * y) - a * b| <= 0.00561636719796 }

x * y -> a * b + p;
fl(x * y) - a * b -> (fl(x * y) - x * y) + p;

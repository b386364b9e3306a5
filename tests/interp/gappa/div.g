# DIV: |fl(x / y) - a / b| <= q + u (|a / b| + q) + eta, q = (ea + |a / b| eb) / (|b| - eb), where x
# and y are within ea and eb of a and b, eb < |b|. At b in [2, 3], |a / b| <= 4, ea = 2^-10,
# eb = 2^-12 in float32: q < 2^-9 / (2 - 2^-12) < 0.00097668173, the bound < 0.00097692021.
@fl = float<24, -149, ne>;
q = ((x - a) - (a / b) * (y - b)) / y;

{ b in [2, 3] /\ |a / b| <= 4 /\ |x - a| <= 1b-10 /\ |y - b| <= 1b-12
  -> |fl(x / y) - a / b| <= 0.00097692021 }

y -> b + (y - b);
x / y -> a / b + q { y <> 0, b <> 0 };
fl(x / y) - a / b -> (fl(x / y) - x / y) + q { y <> 0, b <> 0 };

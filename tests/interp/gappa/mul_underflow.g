# MUL where the product is subnormal: the rounding loses eta at most. |a| <= 2^-100, |b| <= 2^-60,
# ea = 2^-110, eb = 2^-70 in float32: p = 2^-169 + 2^-180, so the bound is below 2^-150 + 2^-168.
@fl = float<24, -149, ne>;
p = a * (y - b) + b * (x - a) + (x - a) * (y - b);

{ |a| <= 1b-100 /\ |b| <= 1b-60 /\ |x - a| <= 1b-110 /\ |y - b| <= 1b-70
  -> |fl(x * y) - a * b| <= 262145b-168 }

x * y -> a * b + p;
fl(x * y) - a * b -> (fl(x * y) - x * y) + p;

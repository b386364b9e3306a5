# ADD and SUB: |fl(x + y) - (a + b)| <= ea + eb + u (|a + b| + ea + eb), where x and y are within ea
# and eb of a and b. At ea = 2^-10, eb = 2^-12, |a + b| <= 1 in float32:
# 2^-10 + 2^-12 + 2^-24 (1 + 2^-10 + 2^-12) < 0.00122076280241.
@fl = float<24, -149, ne>;
x = fl(x_);
y = fl(y_);

{ |x - a| <= 1b-10 /\ |y - b| <= 1b-12 /\ |a + b| <= 1
  -> |fl(x + y) - (a + b)| <= 0.00122076280241 }

x + y -> (a + b) + ((x - a) + (y - b));
fl(x + y) - (a + b) -> (fl(x + y) - (x + y)) + ((x - a) + (y - b));

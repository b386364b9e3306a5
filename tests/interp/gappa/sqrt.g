# SQRT: |fl(sqrt x) - sqrt a| <= s + u (sqrt a + s), s = ea / (sqrt a + sqrt(a - ea)), where x is
# within ea < a of a. At a in [1, 4], ea = 2^-10 in float32: s is largest at a = 1, below
# 2^-10 / (1 + sqrt(1 - 2^-10)) < 0.00048840051, the bound < 0.00048851975.
@fl = float<24, -149, ne>;
s = (x - a) / (sqrt(x) + sqrt(a));

{ a in [1, 4] /\ |x - a| <= 1b-10 -> |fl(sqrt(x)) - sqrt(a)| <= 0.00048851975 }

x -> a + (x - a);
sqrt(x) -> sqrt(a) + s { sqrt(x) + sqrt(a) <> 0 };
fl(sqrt(x)) - sqrt(a) -> (fl(sqrt(x)) - sqrt(x)) + s { sqrt(x) + sqrt(a) <> 0 };

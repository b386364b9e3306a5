# SUM: on a way of h additions a term is multiplied by h factors 1 + d, |d| <= u, so the computed sum
# is off by at most g_h sum|v|, g_h = h u / (1 - h u). Here |(1 + d1) ... (1 + dh) - 1| <= g_h, that
# is (1 - h u) |...| <= h u, for h = 2, 3 and 5 and the u of bfloat16, where it is tightest.
f2 = (1 + d1) * (1 + d2);
f3 = f2 * (1 + d3);
f5 = f3 * (1 + d4) * (1 + d5);

{ |d1| <= 1b-8 /\ |d2| <= 1b-8 /\ |d3| <= 1b-8 /\ |d4| <= 1b-8 /\ |d5| <= 1b-8
  -> (f2 - 1) * (1 - 2b-8) in [-2b-8, 2b-8] /\
     (f3 - 1) * (1 - 3b-8) in [-3b-8, 3b-8] /\
     (f5 - 1) * (1 - 5b-8) in [-5b-8, 5b-8] }

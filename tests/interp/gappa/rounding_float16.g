# Rounding to float16 loses at most u |z| above the least normal number (y: the binade above it) and eta
# below it (w); an addition loses u |s + t| and no eta, subnormal or not.
@fl = float<11, -24, ne>;
s = fl(s_);
t = fl(t_);

{ |y| in [1b-14, 1b-13] /\ |z| in [1b-13, 1b15] /\ |w| <= 1b-14 /\ |s + t| <= 1b15
  -> fl(y) -/ y in [-1b-11, 1b-11] /\ fl(z) -/ z in [-1b-11, 1b-11] /\
     |fl(w) - w| <= 1b-25 /\ fl(s + t) -/ (s + t) in [-1b-11, 1b-11] }

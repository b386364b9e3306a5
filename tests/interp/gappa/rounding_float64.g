# Rounding to float64 loses at most u |z| above the least normal number (y: the binade above it) and eta
# below it (w); an addition loses u |s + t| and no eta, subnormal or not.
@fl = float<53, -1074, ne>;
s = fl(s_);
t = fl(t_);

{ |y| in [1b-1022, 1b-1021] /\ |z| in [1b-1021, 1b1023] /\ |w| <= 1b-1022 /\ |s + t| <= 1b1023
  -> fl(y) -/ y in [-1b-53, 1b-53] /\ fl(z) -/ z in [-1b-53, 1b-53] /\
     |fl(w) - w| <= 1b-1075 /\ fl(s + t) -/ (s + t) in [-1b-53, 1b-53] }

# Rounding to float32 loses at most u |z| above the least normal number (y: the binade above it) and eta
# below it (w); an addition loses u |s + t| and no eta, subnormal or not.
@fl = float<24, -149, ne>;
s = fl(s_);
t = fl(t_);

{ |y| in [1b-126, 1b-125] /\ |z| in [1b-125, 1b127] /\ |w| <= 1b-126 /\ |s + t| <= 1b127
  -> fl(y) -/ y in [-1b-24, 1b-24] /\ fl(z) -/ z in [-1b-24, 1b-24] /\
     |fl(w) - w| <= 1b-150 /\ fl(s + t) -/ (s + t) in [-1b-24, 1b-24] }

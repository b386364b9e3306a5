/* A shared object that is no plugin. */
int touchstone_nothing(void);
int touchstone_nothing(void) { return 0; }

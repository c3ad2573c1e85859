"""Virtual time: an event loop whose clock jumps to the next timer, and limits on the work of one run."""

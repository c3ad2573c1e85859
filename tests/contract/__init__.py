"""What every implementation of an interface must do, whichever world it speaks to."""

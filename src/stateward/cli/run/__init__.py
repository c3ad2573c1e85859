"""Commands that run or install Stateward itself: the operator, its manifests, and simulations."""

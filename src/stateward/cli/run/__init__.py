"""Commands that run or install Stateward itself."""

"""Commands that preview changes: `plan` and `validate`, and the forecast of the effect on each member."""

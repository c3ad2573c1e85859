"""Commands that look ahead: `plan` and `validate`, and the forecast of what a change does to each member."""

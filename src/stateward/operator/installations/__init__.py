"""The controller of installations: carries out the plans of packages, and keeps what they made as it should be."""

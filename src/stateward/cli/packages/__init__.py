"""Commands for packages of templates and for installations of them."""

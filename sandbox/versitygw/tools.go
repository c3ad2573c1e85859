//go:build tools

// Package tools keeps versitygw, a program of another module, in this module's go.mod.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"

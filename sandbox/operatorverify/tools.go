//go:build tools

// Package tools keeps operator-verify, a program of another module, in this module's go.mod.
package tools

import _ "github.com/operator-framework/api/cmd/operator-verify"

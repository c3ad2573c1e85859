//go:build tools

// Package tools keeps kwok, a program of another module, in this module's go.mod.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"

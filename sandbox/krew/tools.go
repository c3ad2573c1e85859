//go:build tools

// Package tools keeps krew, a program of another module, in this module's go.mod.
package tools

import _ "sigs.k8s.io/krew/cmd/krew"

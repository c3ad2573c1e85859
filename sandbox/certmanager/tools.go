//go:build tools

// Package tools keeps cert-manager, a program of another module, in this module's go.mod.
package tools

import _ "github.com/cert-manager/cert-manager/cmd/controller"

//go:build tools

// Package tools keeps KEDA, programs of another module, in this module's go.mod.
package tools

import (
	_ "github.com/kedacore/keda/v2/cmd/adapter"
	_ "github.com/kedacore/keda/v2/cmd/operator"
)

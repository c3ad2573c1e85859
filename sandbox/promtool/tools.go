//go:build tools

// Package tools keeps promtool, a program of another module, in this module's go.mod.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"

//go:build tools

// Package tools keeps Helm, a program of another module, in this module's go.mod.
package tools

import _ "helm.sh/helm/v3/cmd/helm"

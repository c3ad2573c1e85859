// The files of this module are used, and no package: `go mod tidy` would remove it.
module stateward.dev/sandbox/prometheusoperator

go 1.24.0

require github.com/prometheus-operator/prometheus-operator v0.85.0

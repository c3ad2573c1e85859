// Kubelite is all of Kubernetes in one binary: the server side (etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler), the node side (kubelet, kube-proxy), kubectl and
// CoreDNS. One binary builds once, and processes that run the same binary share its pages.
//
// The component is argv[0]'s base name when that is a component, else argv[1].
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJob time zones, without the machine's zone files

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// components maps a component's name to its main function, which returns the exit code.
var components = map[string]func() int{
	"coredns":                 coreDNS,
	"etcd":                    etcd,
	"kube-apiserver":          apiServer,
	"kube-controller-manager": controllerManager,
	"kube-proxy":              kubeProxy,
	"kube-scheduler":          scheduler,
	"kubectl":                 kubectl,
	"kubelet":                 kubelet,
}

func main() {
	name := filepath.Base(os.Args[0])
	run, known := components[name]
	if !known && len(os.Args) > 1 {
		name = os.Args[1]
		if run, known = components[name]; known {
			// Each component parses os.Args itself and expects to be the program.
			os.Args = append([]string{name}, os.Args[2:]...)
		}
	}
	if !known {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "usage: kubelite {%s} [flags]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	os.Exit(run())
}

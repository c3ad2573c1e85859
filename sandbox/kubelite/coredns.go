package main

import (
	"github.com/coredns/coredns/coremain"

	// Only the plugins that the sandbox's Corefile names: the whole list links three clouds.
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

func coreDNS() int {
	coremain.Run()
	return 0
}

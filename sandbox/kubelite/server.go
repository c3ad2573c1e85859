package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserverapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanagerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func apiServer() int { return cli.Run(apiserverapp.NewAPIServerCommand()) }

func controllerManager() int { return cli.Run(controllermanagerapp.NewControllerManagerCommand()) }

func scheduler() int { return cli.Run(schedulerapp.NewSchedulerCommand()) }

// Command kube contains the processes of a Kubernetes control plane and of a node, and kubectl, in one binary, so that
// the cluster suites run against a real API server on a machine without containers.
//
//	kube etcd DATA_DIR CLIENT_URL PEER_URL
//	kube kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy|kubectl FLAGS...
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const etcdStartTimeout = 60 * time.Second

func main() {
	if len(os.Args) < 2 {
		fail("name a component: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy or kubectl")
	}
	name := os.Args[1]
	// Every component parses os.Args itself and expects its own name in front.
	os.Args = append([]string{name}, os.Args[2:]...)
	switch name {
	case "etcd":
		if len(os.Args) != 4 {
			fail("usage: kube etcd DATA_DIR CLIENT_URL PEER_URL")
		}
		if err := runEtcd(os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fail(err.Error())
		}
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-proxy":
		os.Exit(cli.Run(proxy.NewProxyCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	default:
		fail("unknown component " + name)
	}
}

// runEtcd serves one member on loopback until it fails or the process is killed.
func runEtcd(dir, client, peer string) error {
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	// The state is not needed after a crash. Otherwise, on a busy disk (for example while tools are built), every write
	// would wait for seconds.
	config.UnsafeNoFsync = true
	clientURL, err := url.Parse(client)
	if err != nil {
		return err
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return err
	}
	config.ListenClientUrls = []url.URL{*clientURL}
	config.AdvertiseClientUrls = []url.URL{*clientURL}
	config.ListenPeerUrls = []url.URL{*peerURL}
	config.AdvertisePeerUrls = []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(etcdStartTimeout):
		return fmt.Errorf("etcd in %s was not ready after %s", dir, etcdStartTimeout)
	}
	return <-server.Err()
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "kube:", message)
	os.Exit(2)
}

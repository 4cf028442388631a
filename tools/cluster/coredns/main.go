// Command coredns is CoreDNS with a few plugins, among them those of the one-node cluster's Corefile (../pods/system.ts).
//
// It is a Go module of its own: in the control plane's module, the dependencies of CoreDNS (such as
// structured-merge-diff and gRPC) would replace the versions with which this release of the API server is built.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() { coremain.Run() }

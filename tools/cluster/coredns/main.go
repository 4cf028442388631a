// Command coredns is CoreDNS with the few plugins that the one-node cluster names in its Corefile, see ../pods/dns.ts.
//
// A module of its own: in that of the control plane its versions would displace those that the API server of this
// release is made of, of structured-merge-diff and gRPC for two.
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

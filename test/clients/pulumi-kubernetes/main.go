// The provider of Kubernetes for Pulumi, as its project makes it but for its schema: what is published as a Go module lacks
// the generated file that the project's own main embeds. Only `pulumi import` and `get` read it, which no stack here uses.
package main

import (
	"fmt"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	schema := fmt.Sprintf(`{"name":"kubernetes","version":%q}`, version.Version)
	provider.Serve("kubernetes", version.Version, []byte(schema), []byte("{}"))
}

// Pulumi's Kubernetes provider as its project builds it, except that its schema is empty: the published Go module lacks the
// generated file that the project's main embeds. Only `pulumi import` and `get` read the schema, and no stack here uses them.
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

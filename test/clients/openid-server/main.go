// A real OpenID server for the tests of openid-connect: the example server of zitadel/oidc, with one client.
//
// Arguments: the address to listen on, and the redirect URI of the client. Prints "listening on <issuer>". The keys are
// made at the start, so another process on the same address simulates a rotation of the keys.
package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fail(err)
	}
	issuer := fmt.Sprintf("http://%s/", listener.Addr())
	storage.RegisterClients(storage.WebClient("gateway", "secret of the gateway", os.Args[2]))
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	handler := exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), logger, false)
	fmt.Println("listening on " + issuer)
	fail(http.Serve(listener, handler))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

import { join } from "node:path";
import { fromGo } from "./obtain/go.ts";

const clients = join(import.meta.dirname, "../../test/clients");
const deckVersion = "1.55.0";

/** Kong's command decK, built as in its own project. */
export const deck = fromGo({
  name: "deck",
  module: join(clients, "deck"),
  package: "github.com/kong/deck",
  ldflags: [`-X github.com/kong/deck/cmd.VERSION=${deckVersion}`],
  what: `decK ${deckVersion}, about 7 minutes the first time (two cores)`,
});

/** The test program that calls every method of Kong's Go client, see its main.go. */
export const goKong = fromGo({
  name: "go-kong",
  module: join(clients, "go-kong"),
  what: "a client program on go-kong, about 20 seconds",
});

/** An OpenID provider for the plugin openid-connect, see its main.go. */
export const openidServer = fromGo({
  name: "openid-server",
  module: join(clients, "openid-server"),
  what: "an OpenID provider on zitadel/oidc, about a minute",
});

/** The conformance suite of HTTP/2. */
export const h2spec = fromGo({
  name: "h2spec",
  module: join(clients, "h2spec"),
  package: "github.com/summerwind/h2spec/cmd/h2spec",
  what: "h2spec 2.2.1, about 10 seconds",
});

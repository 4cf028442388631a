/** Consumers and credentials as the plugins of one route may see them. */
import type { SnapshotRoute } from "@sluice/model";
import type { CredentialPlugin, ExchangeCredentials, Identities, RecordSchema } from "@sluice/plugin-sdk";
import type { Runtime } from "../../compile/runtime.ts";

/** A class, because an object of closures would have to be allocated for every use: some plugins use it three times. */
export class RouteIdentities implements Identities {
  readonly #runtime: Pick<Runtime, "identities" | "snapshot">;
  readonly #route: SnapshotRoute;

  constructor(runtime: Pick<Runtime, "identities" | "snapshot">, route: SnapshotRoute) {
    this.#runtime = runtime;
    this.#route = route;
  }

  get namespace(): string | null {
    return this.#route._sluice?.namespace ?? null;
  }

  credential<Name extends keyof ExchangeCredentials>(collection: Name, value: string) {
    return this.#runtime.identities.credential(collection, value, this.#route);
  }

  whyInvalid(collection: keyof ExchangeCredentials, value: string) {
    return this.#runtime.identities.whyInvalid(collection, value, this.#route);
  }

  credentials(collection: "mtls_auth_credentials", subjectName: string) {
    return this.#runtime.identities.credentials(collection, subjectName, this.#route);
  }

  pluginIdentity<Schema extends RecordSchema>(plugin: CredentialPlugin<Schema>, key: string) {
    return this.#runtime.identities.pluginIdentity(plugin, key, this.#route);
  }

  credentialById(id: string) {
    return this.#runtime.identities.credentialById(id, this.#route);
  }

  groups(consumerId: string) {
    return this.#runtime.identities.acls(consumerId);
  }

  consumer(idOrUsername: string) {
    return this.#runtime.identities.consumer(idOrUsername);
  }

  consumerByCustomId(customId: string) {
    return this.#runtime.identities.consumerByCustomId(customId);
  }

  caCertificate(id: string) {
    return this.#runtime.snapshot.ca_certificates.get(id);
  }
}

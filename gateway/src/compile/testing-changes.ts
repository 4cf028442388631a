/** Random changes of small snapshots, for tests. Names are few, so that a change usually affects existing entities. */
import {
  BucketMap,
  emptySnapshot,
  hashOfId,
  type ServiceEndpoint,
  type Snapshot,
  type UpstreamEndpoint,
} from "@sluice/model";
import fc from "fast-check";
import { targetOf, upstreamNamed } from "../balance/testing.ts";
import {
  caCertificateOf,
  certificateNamed,
  consumerNamed,
  graphqlDocumentsNamed,
  idOf,
  keyCredential,
  pluginEntityNamed,
  routeNamed,
  serviceNamed,
  vaultNamed,
} from "./testing-entities.ts";

type Section = Exclude<keyof Snapshot, "hash">;

/** Sets the value at a key of a section; undefined removes the value. */
export interface ChangeStep {
  readonly section: Section;
  readonly key: string;
  readonly value: object | undefined;
}

const indexes = [0, 1, 2] as const;
export const testNames = {
  services: indexes.map((index) => `s${index}`),
  consumers: indexes.map((index) => `c${index}`),
  upstreams: ["pool0", "pool1"],
  keys: ["k0", "k1"],
  hosts: ["a.test", "*.test", "b.test:80"],
  paths: ["/", "/a", "/a/b", "~/a.*"],
  serverNames: ["a.test", "*.test", "*"],
  certificates: ["x", "y"],
  authorities: ["p", "q"],
  plugins: ["cors", "key-auth", "rate-limiting"],
  vaults: ["my-env", "other-env"],
  documents: ["web", "mobile"],
};

const one = <Item>(items: readonly Item[]) => fc.constantFrom(...items);
const maybe = <Item>(item: fc.Arbitrary<Item>) => fc.option(item, { nil: null, freq: 2 });
const referring = (kind: string, among: readonly string[]) =>
  maybe(one(among).map((name) => ({ id: idOf(`${kind} ${name}`) })));

/** Random steps that set a value, or, in a quarter of the cases, remove it. */
const put = <Value extends object>(section: Section, values: fc.Arbitrary<readonly [key: string, value: Value]>) =>
  fc
    .tuple(values, fc.integer({ min: 0, max: 3 }))
    .map(([[key, value], luck]): ChangeStep => ({ section, key, value: luck === 0 ? undefined : value }));

const authorityIds = testNames.authorities.map((name) => caCertificateOf("", name).id);
/** A config of rate-limiting whose Redis user name is in the vault. The other plugins have no such member. */
const referringTo = (vault: string) => ({
  minute: 1,
  policy: "redis",
  redis: { host: "redis.test", username: `{vault://${vault}/user}` },
});

const certificateIds = testNames.certificates.map((name) => idOf(`certificate ${name}`));

const steps: readonly fc.Arbitrary<ChangeStep>[] = [
  put(
    "services",
    fc
      .record({
        name: one(testNames.services),
        host: one(["up.test", ...testNames.upstreams]),
        protocol: one(["http", "https"] as const),
        enabled: one([true, true, false]),
        client_certificate: maybe(one(certificateIds).map((id) => ({ id }))),
        ca_certificates: maybe(fc.uniqueArray(one(authorityIds))),
      })
      .map(({ name, ...members }) => {
        const service = serviceNamed(name, members);
        return [service.id, service] as const;
      }),
  ),
  put(
    "routes",
    fc
      .record({
        name: one(["r0", "r1", "r2", "r3", "r4"]),
        hosts: maybe(fc.uniqueArray(one(testNames.hosts), { minLength: 1, maxLength: 2 })),
        paths: maybe(fc.uniqueArray(one(testNames.paths), { minLength: 1, maxLength: 2 })),
        service: referring("service", testNames.services),
      })
      .map(({ name, ...members }) => {
        const route = routeNamed(name, members);
        return [route.id, route] as const;
      }),
  ),
  put(
    "plugins",
    fc
      .record({
        name: one(testNames.plugins),
        route: referring("route", ["r0", "r1"]),
        service: referring("service", testNames.services.slice(0, 2)),
        consumer: referring("consumer", testNames.consumers.slice(0, 2)),
        config: fc.oneof(fc.record({ made: fc.nat(3) }), one(testNames.vaults).map(referringTo)),
        enabled: one([true, true, false]),
        protocols: one([["http", "https"] as const, ["https"] as const]),
      })
      .map(({ name, protocols, ...members }) => {
        const plugin = pluginEntityNamed(name, { ...members, protocols: [...protocols] });
        return [plugin.id, plugin] as const;
      }),
  ),
  put(
    "vaults",
    fc.record({ name: one(testNames.vaults), variables: maybe(one(["A_", "B_", "C_"])) }).map(({ name, variables }) => {
      const vault = vaultNamed(name, variables);
      return [vault.id, vault] as const;
    }),
  ),
  put(
    "graphql_documents",
    fc.record({ id: one(["d0", "d1"]), name: one(testNames.documents) }).map(({ id, name }) => {
      const documents = { ...graphqlDocumentsNamed(name), id: idOf(id) };
      return [documents.id, documents] as const;
    }),
  ),
  put(
    "consumers",
    one(testNames.consumers).map((name) => [consumerNamed(name).id, consumerNamed(name)] as const),
  ),
  put(
    "keyauth_credentials",
    fc
      .record({ name: one(["d0", "d1", "d2"]), key: one(testNames.keys), owner: one(testNames.consumers) })
      .map(({ name, key, owner }) => {
        const credential = { ...keyCredential(consumerNamed(owner), key), id: idOf(name) };
        return [credential.id, credential] as const;
      }),
  ),
  put(
    "upstreams",
    fc
      .record({
        name: one(testNames.upstreams),
        host_header: maybe(one(["called.test"])),
        slow_start_window: maybe(one([1, 2])),
        client_certificate: maybe(one(certificateIds).map((id) => ({ id }))),
      })
      .map(({ name, ...members }) => {
        const upstream = upstreamNamed(name, members);
        return [upstream.id, upstream] as const;
      }),
  ),
  put(
    "targets",
    fc
      .record({ of: one(testNames.upstreams), address: one(["10.0.0.1:80", "10.0.0.2:80"]), weight: one([1, 100]) })
      .map(({ of, address, weight }) => {
        const target = targetOf(upstreamNamed(of), address, { weight });
        return [target.id, target] as const;
      }),
  ),
  put(
    "endpoints",
    fc
      .record({
        service: one(testNames.services),
        addresses: fc.uniqueArray(one(["10.1.0.1", "10.1.0.2", "10.1.0.3"]), { maxLength: 3 }),
        terminating: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      })
      .map(({ service, addresses, terminating }) => {
        const list: ServiceEndpoint[] = addresses.map((address, at) => ({
          address,
          port: 80,
          terminating: terminating[at] === true,
        }));
        return [idOf(`service ${service}`), list] as const;
      }),
  ),
  put(
    "upstream_endpoints",
    fc
      .record({
        of: one(testNames.upstreams),
        addresses: fc.uniqueArray(one(["10.0.0.1", "10.1.0.2", "10.1.0.3"]), { maxLength: 3 }),
        weight: fc.nat({ max: 2 }),
      })
      .map(({ of, addresses, weight }) => {
        const list: UpstreamEndpoint[] = addresses.map((address) => ({ address, port: 80, weight }));
        return [upstreamNamed(of).id, list] as const;
      }),
  ),
  put(
    "certificates",
    fc.record({ name: one(testNames.certificates), key: one(["old", "new"]) }).map(({ name, key }) => {
      const id = idOf(`certificate ${name}`);
      return [id, { ...certificateNamed(name, { certificate: name, key }).certificate, id }] as const;
    }),
  ),
  put(
    "ca_certificates",
    fc.record({ name: one(testNames.authorities), cert: one(["old", "new"]) }).map(({ name, cert }) => {
      const authority = caCertificateOf(`${name} ${cert}`, name);
      return [authority.id, authority] as const;
    }),
  ),
  put(
    "snis",
    fc.record({ name: one(testNames.serverNames), certificate: one(certificateIds) }).map(({ name, certificate }) => {
      const sni = { ...certificateNamed(name, { certificate: "", key: "" }).sni, certificate: { id: certificate } };
      return [sni.id, sni] as const;
    }),
  ),
];

/** Successive changes, each of a few steps. */
export const randomChanges: fc.Arbitrary<readonly (readonly ChangeStep[])[]> = fc.array(
  fc.array(fc.oneof(...steps), { minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 30 },
);

/** The snapshot after a change; unchanged parts are shared. The snapshot is not checked: references may be dangling. */
export function applySteps(before: Snapshot, change: readonly ChangeStep[]): Snapshot {
  const next: Record<string, unknown> = { ...before };
  for (const { section, key, value } of change) {
    const map = next[section] as ReadonlyMap<string, object>;
    next[section] = BucketMap.of(map, hashOfId).with([[key, value]]);
  }
  return next as unknown as Snapshot;
}

export const initialSnapshot: Snapshot = emptySnapshot;

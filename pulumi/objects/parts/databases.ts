/** Single-pod Postgres and Redis for trials, and the user API's database settings; equal to the chart's. */
import type { KubernetesObject } from "../create.ts";
import { serviceOf } from "../deployment.ts";
import { metadataOf, objectName, type Release, selectorOf } from "../names.ts";
import { podsOf, secretEnv } from "../pods.ts";

/** Whether the user API has a Postgres server; otherwise it has a database in its pod. */
export const hasPostgres = ({ values: { postgres } }: Release): boolean =>
  postgres.enabled || postgres.existingSecret !== "";

export const postgresSecret = (release: Release): string =>
  release.values.postgres.existingSecret || objectName(release, "postgres");

/** The name of the Secret with the password of Redis; undefined if there is no password. */
export function redisSecret(release: Release): string | undefined {
  const { existingSecret, enabled } = release.values.redis;
  if (existingSecret !== "") return existingSecret;
  return enabled ? objectName(release, "redis") : undefined;
}

/** The address of Redis; undefined if there is none. */
export function redisAddressOf(release: Release): { host: string; port: number; tls: boolean } | undefined {
  const { enabled, host, port, tls } = release.values.redis;
  if (enabled) return { host: objectName(release, "redis"), port: 6379, tls: false };
  return host === "" ? undefined : { host, port, tls };
}

/** Variables with the URL of the user API's database. The password comes from a Secret. */
export function databaseEnv(release: Release): readonly object[] {
  const name = postgresSecret(release);
  if (!release.values.postgres.enabled) return [secretEnv("SLUICE_USER_API_DATABASE_URL", { name, key: "url" })];
  const value = `postgres://users:$(POSTGRES_PASSWORD)@${objectName(release, "postgres")}:5432/users`;
  return [secretEnv("POSTGRES_PASSWORD", { name, key: "password" }), { name: "SLUICE_USER_API_DATABASE_URL", value }];
}

export function redisEnv(release: Release): readonly object[] {
  const server = redisAddressOf(release);
  if (server === undefined) return [];
  const name = redisSecret(release);
  const login = name === undefined ? "" : ":$(REDIS_PASSWORD)@";
  const url = `${server.tls ? "rediss" : "redis"}://${login}${server.host}:${server.port}`;
  return [
    ...(name === undefined ? [] : [secretEnv("REDIS_PASSWORD", { name, key: "password" })]),
    { name: "SLUICE_USER_API_REDIS_URL", value: url },
    { name: "SLUICE_USER_API_REDIS_PREFIX", value: `${release.namespace}-${release.name}-user-api` },
  ];
}

export function postgresObjects(release: Release): readonly KubernetesObject[] {
  const { enabled, size, storageClassName } = release.values.postgres.persistence;
  const claim = {
    metadata: { name: "data", labels: selectorOf(release, "postgres") },
    spec: {
      accessModes: ["ReadWriteOnce"],
      ...(storageClassName === "" ? {} : { storageClassName }),
      resources: { requests: { storage: size } },
    },
  };
  return [
    serviceOf(release, { component: "postgres", ports: { postgres: 5432 } }),
    serverOf(release, {
      component: "postgres",
      port: 5432,
      grace: { terminationGracePeriodSeconds: 60 },
      container: {
        env: [
          { name: "POSTGRES_USER", value: "users" },
          { name: "POSTGRES_DB", value: "users" },
          secretEnv("POSTGRES_PASSWORD", { name: postgresSecret(release), key: "password" }),
          { name: "PGDATA", value: "/var/lib/postgresql/data" },
        ],
        volumeMounts: [
          { name: "data", mountPath: "/var/lib/postgresql" },
          { name: "run", mountPath: "/var/run/postgresql" },
          { name: "tmp", mountPath: "/tmp" },
        ],
      },
      volumes: ["run", "tmp", ...(enabled ? [] : ["data"])],
      spec: enabled ? { volumeClaimTemplates: [claim] } : {},
    }),
  ];
}

export function redisObjects(release: Release): readonly KubernetesObject[] {
  return [
    serviceOf(release, { component: "redis", ports: { redis: 6379 } }),
    serverOf(release, {
      component: "redis",
      port: 6379,
      container: {
        command: ["redis-server"],
        // The data is relevant for minutes only and is not persisted.
        args: ["--requirepass", "$(REDIS_PASSWORD)", "--save", "", "--appendonly", "no", "--dir", "/data"],
        env: [secretEnv("REDIS_PASSWORD", { name: redisSecret(release) ?? "", key: "password" })],
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
      volumes: ["data"],
    }),
  ];
}

interface Server {
  readonly component: "postgres" | "redis";
  readonly port: number;
  readonly grace?: object;
  readonly container: object;
  /** Names of emptyDir volumes. */
  readonly volumes: readonly string[];
  readonly spec?: object;
}

function serverOf(release: Release, { component, port, grace, container, volumes, spec }: Server): KubernetesObject {
  const metadata = metadataOf(release, component);
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata,
    spec: {
      replicas: 1,
      serviceName: metadata.name,
      ...podsOf(release, {
        component,
        values: release.values[component],
        pod: { automountServiceAccountToken: false, ...grace },
        container: {
          ...container,
          ports: [{ name: component, containerPort: port }],
          readinessProbe: { tcpSocket: { port: component }, periodSeconds: 2 },
        },
        volumes: volumes.map((name) => ({ name, emptyDir: {} })),
      }),
      ...spec,
    },
  };
}

import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { createOnce } from "../objects/create.ts";
import type { Release } from "../objects/names.ts";
import { redisObjects } from "../objects/parts/databases.ts";
import { randomText, secretObject } from "../objects/secrets.ts";
import { guardsOf, SluiceComponent } from "./component.ts";

/** A single-pod Redis server for trials, in which all nodes share their rate-limiting counters. */
export class RedisComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Redis", name, options);
    if (release.values.redis.existingSecret === "") {
      const entries = { password: randomText() };
      createOnce(secretObject(release, { component: "redis", credential: "redis", entries }), { parent: this });
    }
    this.create([...guardsOf(release, "redis"), ...redisObjects(release)]);
    this.registerOutputs();
  }
}

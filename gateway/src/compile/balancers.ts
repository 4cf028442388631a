/** Balancers of all upstream entities. A change replaces only those of the upstreams that it affects. */
import {
  BucketMap,
  byId,
  differences,
  emptySnapshot,
  type Snapshot,
  type Target,
  type Upstream,
} from "@sluice/model/serving";
import { Balancer, type HealthTransition, type HealthUpdate } from "../balance/balancer.ts";
import { GroupIndex } from "./group-index.ts";

export interface BalancerTools {
  /** Called when a target becomes healthy or unhealthy. */
  readonly onHealthTransition?: (transition: HealthTransition) => void;
  /** Called for every signal that changed a health state, and for manual changes. */
  readonly onHealthUpdate?: (update: HealthUpdate) => void;
}

type Sections = Pick<Snapshot, "upstreams" | "targets" | "certificates">;

interface BalancerIndexes {
  readonly sections: Sections;
  readonly byId: BucketMap<Balancer>;
  /** Upstreams by name. */
  readonly upstreams: GroupIndex<Upstream>;
  /** Targets by upstream id. */
  readonly targets: GroupIndex<Target>;
  /** Upstreams with a client certificate, by the certificate's id. */
  readonly showing: GroupIndex<Upstream>;
}

export class Balancers {
  readonly #parts: BalancerIndexes;

  private constructor(parts: BalancerIndexes) {
    this.#parts = parts;
  }

  static readonly empty = new Balancers({
    sections: emptySnapshot,
    byId: new BucketMap(byId),
    upstreams: new GroupIndex(({ name }) => name),
    targets: new GroupIndex(({ upstream }) => upstream?.id),
    showing: new GroupIndex(({ client_certificate }) => client_certificate?.id),
  });

  /** By upstream id. */
  get all(): ReadonlyMap<string, Balancer> {
    return this.#parts.byId;
  }

  named(name: string): Balancer | undefined {
    return this.all.get(this.#parts.upstreams.of(name)[0]?.id ?? "");
  }

  /** Returns the same object when upstreams, targets and certificates are unchanged. */
  with(
    { upstreams, targets, certificates }: Sections,
    { onHealthTransition, onHealthUpdate }: BalancerTools,
  ): Balancers {
    const { sections, ...before } = this.#parts;
    const changed = {
      upstreams: differences(sections.upstreams, upstreams),
      targets: differences(sections.targets, targets),
      certificates: differences(sections.certificates, certificates),
    };
    if (Object.values(changed).every(({ length }) => length === 0)) return this;
    const groups = {
      upstreams: before.upstreams.with(changed.upstreams),
      targets: before.targets.with(changed.targets),
      showing: before.showing.with(changed.upstreams),
    };
    const touched = new Set([
      ...changed.upstreams.map(({ key }) => key),
      ...changed.targets
        .flatMap(({ before: left, after: entered }) => [left?.upstream?.id ?? [], entered?.upstream?.id ?? []])
        .flat(),
      ...changed.certificates.flatMap(({ key }) => groups.showing.of(key).map(({ id }) => id)),
    ]);
    const remade = [...touched].map((id): readonly [string, Balancer | undefined] => {
      const upstream = upstreams.get(id);
      const certificate = certificates.get(upstream?.client_certificate?.id ?? "") ?? null;
      const previous = before.byId.get(id) ?? null;
      const common = { previous, now: monotonic, onHealthTransition, onHealthUpdate };
      return [id, upstream && new Balancer({ upstream, targets: groups.targets.of(id), certificate, ...common })];
    });
    return new Balancers({
      sections: { upstreams, targets, certificates },
      byId: before.byId.with(remade),
      ...groups,
    });
  }
}

const monotonic = (): number => performance.now();

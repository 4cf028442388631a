/** Validates the specs of GatewayParameters, and merges that of a Gateway with that of its GatewayClass. Pure. */
import {
  configSizeMessage,
  dedicatedMembers,
  type FleetAutoscaling,
  type FleetDeployment,
  type FleetDisruptionBudget,
  type GatewayNodes,
  type GatewayParametersSpec,
  type GatewayServiceParameters,
  parameterKinds,
  readSpec,
  type Violation,
} from "@sluice/model";

/** How a Gateway is deployed: its parameters and those of its GatewayClass, with defaults. */
export interface GatewayParameters {
  readonly nodes: GatewayNodes;
  /** `replicas` is set unless there is autoscaling. Meaningless for shared nodes, like the next two members. */
  readonly deployment: FleetDeployment;
  /** Undefined: there is no autoscaling. */
  readonly autoscaling: Required<FleetAutoscaling> | undefined;
  readonly disruptionBudget: Required<FleetDisruptionBudget>;
  /** Unset members: the settings of the operator. */
  readonly service: GatewayServiceParameters;
}

const DEFAULT_REPLICAS = 2;
const DEFAULT_TARGET_CPU = 70;

/**
 * The members of a spec that are set, or everything that is wrong with it. The API server has checked most of it; it
 * knows no limit for the size of an affinity, and resources of a directory were not checked at all.
 */
export function checkParameters(
  spec: unknown,
): { readonly value: GatewayParametersSpec } | { readonly violations: readonly Violation[] } {
  const size = configSizeMessage(spec);
  if (size !== undefined) return { violations: [{ path: [], message: size }] };
  const { own, violations } = readSpec(parameterKinds.GatewayParameters.spec, spec ?? {});
  if (violations.length > 0) return { violations };
  const contradicting = contradictions(own);
  return contradicting.length > 0 ? { violations: contradicting } : { value: own };
}

/**
 * Members of the Gateway replace those of the class, one level deep: a Gateway with `deployment.replicas` keeps the
 * class's `deployment.resources`. A member of the class that contradicts one of the Gateway has no effect.
 */
export function mergeParameters(
  ofClass: GatewayParametersSpec,
  own: GatewayParametersSpec,
): { readonly value: GatewayParameters } | { readonly violations: readonly Violation[] } {
  const nodes = own.nodes ?? ofClass.nodes ?? "Shared";
  const base = withoutReplaced(nodes === "Shared" ? sharedMembers(ofClass) : ofClass, own);
  const merged = {
    nodes,
    ...mergedMember("deployment", base, own),
    ...mergedMember("autoscaling", base, own),
    ...mergedMember("disruptionBudget", base, own),
    ...mergedMember("service", base, own),
  };
  const violations = contradictions(merged);
  return violations.length > 0 ? { violations } : { value: withDefaults(merged) };
}

const sharedMembers = ({ service }: GatewayParametersSpec): GatewayParametersSpec => (service ? { service } : {});

type Member = Exclude<keyof GatewayParametersSpec, "nodes">;

function mergedMember<Name extends Member>(name: Name, base: GatewayParametersSpec, own: GatewayParametersSpec) {
  const [before, after] = [base[name], own[name]];
  return before || after ? ({ [name]: { ...before, ...after } } as Pick<GatewayParametersSpec, Name>) : {};
}

/** The members of the class, except those that members of the Gateway exclude. */
function withoutReplaced(ofClass: GatewayParametersSpec, own: GatewayParametersSpec): GatewayParametersSpec {
  const { deployment, autoscaling, service, ...others } = ofClass;
  const { replicas, ...ofDeployment } = deployment ?? {};
  const { externalTrafficPolicy, loadBalancerClass, ...ofService } = service ?? {};
  const type = own.service?.type ?? service?.type;
  return {
    ...others,
    ...(deployment && {
      deployment: { ...ofDeployment, ...(replicas !== undefined && !own.autoscaling && { replicas }) },
    }),
    ...(autoscaling && own.deployment?.replicas === undefined && { autoscaling }),
    ...(service && {
      service: {
        ...ofService,
        ...(externalTrafficPolicy && type !== "ClusterIP" && { externalTrafficPolicy }),
        ...(loadBalancerClass && (type ?? "LoadBalancer") === "LoadBalancer" && { loadBalancerClass }),
      },
    }),
  };
}

/** Members that exclude each other. The API server checks the same within one resource, by rules of the CRD. */
function contradictions(spec: GatewayParametersSpec): readonly Violation[] {
  const { nodes, deployment = {}, autoscaling, service = {} } = spec;
  const { minReplicas, maxReplicas = 0 } = autoscaling ?? {};
  const violation = (path: Violation["path"], message: string): Violation => ({ path, message });
  return [
    ...dedicatedMembers
      .filter((member) => nodes === "Shared" && spec[member])
      .map((member) =>
        violation([member], `only for the Gateway's own nodes: set nodes to Dedicated, or remove ${member}`),
      ),
    ...(autoscaling && deployment.replicas !== undefined
      ? [violation(["deployment", "replicas"], "excludes autoscaling: remove one of them")]
      : []),
    ...(minReplicas !== undefined && minReplicas > maxReplicas
      ? [violation(["autoscaling", "minReplicas"], "must not be higher than maxReplicas")]
      : []),
    ...(service.loadBalancerClass !== undefined && (service.type ?? "LoadBalancer") !== "LoadBalancer"
      ? [violation(["service", "loadBalancerClass"], "only for the type LoadBalancer")]
      : []),
    ...(service.externalTrafficPolicy !== undefined && service.type === "ClusterIP"
      ? [violation(["service", "externalTrafficPolicy"], "only for the types NodePort and LoadBalancer")]
      : []),
  ];
}

function withDefaults(merged: GatewayParametersSpec & Pick<GatewayParameters, "nodes">): GatewayParameters {
  const { nodes, deployment = {}, autoscaling, disruptionBudget = {}, service = {} } = merged;
  return {
    nodes,
    deployment: autoscaling ? deployment : { replicas: DEFAULT_REPLICAS, ...deployment },
    autoscaling: autoscaling && {
      minReplicas: Math.min(DEFAULT_REPLICAS, autoscaling.maxReplicas),
      targetCPU: DEFAULT_TARGET_CPU,
      ...autoscaling,
    },
    disruptionBudget: { maxUnavailable: 1, ...disruptionBudget },
    service,
  };
}

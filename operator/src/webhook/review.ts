/** AdmissionReview (admission.k8s.io/v1): request and response as plain data. Pure. */
import { describeResourceViolation, type Metadata, type Resource, sluiceKindOf } from "@sluice/crds";
import type { ReviewedWrite } from "../revisions/authors.ts";
import { isParameters, validateResource } from "./validate-resource.ts";

const REVIEW = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" } as const;

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  /** The reason for a refusal: one violation per line, each with its path. */
  readonly status?: { readonly code: number; readonly message: string };
  readonly warnings?: readonly string[];
}

export interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: AdmissionResponse;
}

export interface ReviewOptions {
  readonly homeNamespace: string;
  /** Whether the resource is of this operator's class. */
  readonly isOwn: (resource: Resource) => boolean;
  /** Called for each allowed write that is not a dry run. Default: does nothing. */
  readonly observeWrite?: (write: ReviewedWrite) => void;
}

type Members = Readonly<Record<string, unknown>>;

/** Maximum characters of a warning: the API server may truncate longer ones. */
const LONGEST_WARNING = 256;

/** The reply to a review. `fault`: the body is not a valid AdmissionReview (v1), and the caller answers with 400. */
export function reviewResource(body: unknown, options: ReviewOptions): AdmissionReview | { readonly fault: string } {
  if (!isRecord(body) || body.kind !== REVIEW.kind) return { fault: "expected an AdmissionReview" };
  if (body.apiVersion !== REVIEW.apiVersion)
    return { fault: `expected an AdmissionReview of ${REVIEW.apiVersion}, not of ${JSON.stringify(body.apiVersion)}` };
  const { request } = body;
  if (!isRecord(request) || typeof request.uid !== "string" || request.uid === "")
    return { fault: "the AdmissionReview has no request with a uid" };
  return { ...REVIEW, response: { uid: request.uid, ...answer(request, options) } };
}

function answer(request: Members, options: ReviewOptions): Omit<AdmissionResponse, "uid"> {
  const { operation, namespace, name } = request;
  const isDeletion = operation === "DELETE";
  const object = isDeletion ? request.oldObject : request.object;
  // Subresources are not validated.
  if ((!isDeletion && operation !== "CREATE" && operation !== "UPDATE") || (request.subResource ?? "") !== "")
    return { allowed: true };
  if (!isRecord(object)) return { allowed: true };
  const metadata = { ...(isRecord(object.metadata) ? object.metadata : {}) };
  // The namespace of the request takes precedence. A created object may have no namespace yet, and no name if the name
  // is generated.
  const resource = {
    ...object,
    metadata: {
      ...metadata,
      name: metadata.name || name || "unnamed",
      namespace: namespace ?? metadata.namespace ?? "",
    },
  } as unknown as Resource;
  const isKnown = sluiceKindOf(resource) !== undefined || isParameters(resource);
  if (!isKnown || !options.isOwn(resource)) return { allowed: true };
  const { violations, warnings } = isDeletion ? noErrors : validateResource(resource, options.homeNamespace);
  if (violations.length === 0) observe(resource.metadata, request, options);
  return {
    allowed: violations.length === 0,
    ...(violations.length > 0 && {
      status: { code: 422, message: violations.map(describeResourceViolation).join("\n") },
    }),
    ...(warnings.length > 0 && { warnings: warnings.map((warning) => warning.slice(0, LONGEST_WARNING)) }),
  };
}

/** Deletions are always allowed: a resource that violates a newer rule can be deleted. */
const noErrors: ReturnType<typeof validateResource> = { violations: [], warnings: [] };

/** In an admission review, `uid` and `generation` already have the values that the API server will store. */
function observe(
  { uid, ...metadata }: Metadata,
  { operation, userInfo, dryRun }: Members,
  { observeWrite }: ReviewOptions,
): void {
  const generation = operation === "DELETE" ? null : metadata.generation;
  const user = isRecord(userInfo) ? userInfo.username : undefined;
  if (dryRun === true || typeof user !== "string" || typeof uid !== "string") return;
  if (generation === null || typeof generation === "number") observeWrite?.({ uid, generation, user });
}

const isRecord = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

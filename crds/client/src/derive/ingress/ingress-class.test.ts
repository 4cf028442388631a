import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "../../resource.ts";
import { ownIngresses } from "./ingress-class.ts";

const ingressClass = (name: string, controller: string, isDefault = false): Resource => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: {
    name,
    ...(isDefault && { annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } }),
  } as Resource["metadata"],
  spec: { controller },
});

const OURS = "sluice.dev/ingress-controller";
const NGINX = "k8s.io/ingress-nginx";

interface Row {
  readonly named?: string;
  readonly annotated?: string;
  readonly classes?: readonly Resource[];
  readonly class?: string;
  readonly controllers?: readonly string[];
  readonly isOwn: boolean;
}

const rows: Readonly<Record<string, Row>> = {
  "with a class of the installation's controller": {
    named: "web",
    classes: [ingressClass("web", OURS)],
    isOwn: true,
  },
  "with a class of another controller that has the name of the installation's class": {
    named: "sluice",
    classes: [ingressClass("sluice", NGINX)],
    isOwn: false,
  },
  "with the name of the installation's class, if no IngressClass of this name is known": {
    named: "sluice",
    isOwn: true,
  },
  "with the name of a class that is not known": { named: "nginx", isOwn: false },
  "with a class of a controller that the installation also serves": {
    named: "nginx",
    classes: [ingressClass("nginx", NGINX)],
    controllers: [NGINX],
    isOwn: true,
  },
  "with the older annotation, which takes precedence": {
    named: "sluice",
    annotated: "nginx",
    classes: [ingressClass("nginx", NGINX)],
    isOwn: false,
  },
  "without a class, if the default class is the installation's": {
    classes: [ingressClass("web", OURS, true)],
    isOwn: true,
  },
  "without a class, if the default class is another controller's": {
    classes: [ingressClass("nginx", NGINX, true), ingressClass("web", OURS)],
    isOwn: false,
  },
  "with a class of the controller of another installation of Sluice": {
    named: "web",
    classes: [ingressClass("web", `${OURS}/blue`)],
    isOwn: false,
  },
  "with a class of the controller of an installation that has a class of its own": {
    named: "web",
    classes: [ingressClass("web", `${OURS}/blue`)],
    class: "blue",
    isOwn: true,
  },
};

for (const [
  title,
  { named, annotated, classes = [], class: own = "sluice", controllers = [], isOwn },
] of Object.entries(rows))
  test(`an Ingress ${title} is ${isOwn ? "served" : "not served"}`, () => {
    const owns = ownIngresses({ class: own, controllers, ingressClasses: classes });
    const ingress: Resource = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: {
        name: "web",
        namespace: "shop",
        ...(annotated !== undefined && { annotations: { "kubernetes.io/ingress.class": annotated } }),
      },
      spec: { ...(named !== undefined && { ingressClassName: named }) },
    };
    assert.equal(owns(ingress), isOwn);
  });

import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { monitoringObjects } from "../objects/monitoring.ts";
import type { Release } from "../objects/names.ts";
import { operatorObjects, privateNamespaceObjects } from "../objects/parts/operator.ts";
import { guardsOf, SluiceComponent } from "./component.ts";

/** The operator, which reads custom resources and pushes them to the nodes, with its RBAC objects and its webhook. */
export class OperatorComponent extends SluiceComponent {
  constructor(name: string, release: Release, options?: ComponentResourceOptions) {
    super("Operator", name, options);
    const dependsOn = [...this.create(privateNamespaceObjects(release))];
    this.create(
      [...guardsOf(release, "operator"), ...monitoringObjects(release, "operator"), ...operatorObjects(release)],
      { dependsOn },
    );
    this.registerOutputs();
  }
}

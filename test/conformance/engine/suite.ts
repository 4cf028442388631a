/** What every HTTP engine does on the wire. */
import { answerSuite } from "./answers.ts";
import { balancingSuite } from "./balancing.ts";
import { bodySuite } from "./bodies.ts";
import { failureSuite } from "./failures.ts";
import { grpcSuite } from "./grpc.ts";
import { grpcPeerSuite } from "./grpc-peers.ts";
import { headerSuite } from "./headers.ts";
import { healthSuite } from "./health.ts";
import { hostileSuite } from "./hostile.ts";
import { http2Suite } from "./http2.ts";
import { http2FloodSuite } from "./http2-floods.ts";
import { http2LimitSuite } from "./http2-limits.ts";
import { interimSuite } from "./interims.ts";
import { largeBodySuite } from "./large-bodies.ts";
import { lifecycleSuite } from "./lifecycle.ts";
import { pipelineSuite } from "./pipelines.ts";
import type { Engine } from "./rig.ts";
import { slowBodySuite } from "./slow-bodies.ts";
import { slowClientSuite } from "./slow-clients.ts";
import { strictnessSuite } from "./strictness.ts";
import { tlsSuite } from "./tls.ts";
import { upgradeSuite } from "./upgrades.ts";

export function engineSuite(engine: Engine): void {
  headerSuite(engine);
  answerSuite(engine);
  bodySuite(engine);
  largeBodySuite(engine);
  failureSuite(engine);
  slowBodySuite(engine);
  interimSuite(engine);
  upgradeSuite(engine);
  tlsSuite(engine);
  balancingSuite(engine);
  healthSuite(engine);
  lifecycleSuite(engine);
  strictnessSuite(engine);
  hostileSuite(engine);
  pipelineSuite(engine);
  slowClientSuite(engine);
  http2Suite(engine);
  http2LimitSuite(engine);
  http2FloodSuite(engine);
  grpcSuite(engine);
  grpcPeerSuite(engine);
}

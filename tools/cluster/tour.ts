/** The tour of `npm run cluster`: the steps of the tour of `npm start`, with kubectl. */
import { curlLines, type TourStep } from "../start/greeting.ts";
import type { ChosenAddresses } from "../start/processes.ts";
import { seededAnswer } from "../start/users.ts";

export interface ClusterTourOptions {
  readonly chosen: ChosenAddresses;
  /** The folder of the samples, as a user can type it. */
  readonly samples: string;
}

const wait = "kubectl wait --for=condition=Programmed";

export function clusterTour({ chosen, samples }: ClusterTourOptions): readonly TourStep[] {
  const answer = seededAnswer;
  return [
    {
      title: "Resources by kubectl, and a GraphQL query through both nodes, with an API key:",
      commands: [
        `kubectl apply -f ${samples}`,
        `${wait} -f ${samples}/users.yaml`,
        ...curlLines(chosen.proxy),
        ...curlLines(chosen.proxy2),
      ],
      output: [
        "plugin.sluice.dev/users-cors created",
        "consumer.sluice.dev/demo created",
        "secret/demo-key created",
        "plugin.sluice.dev/users-key-auth created",
        "plugin.sluice.dev/users-prometheus created",
        "plugin.sluice.dev/users-rate-limiting created",
        "service.sluice.dev/users created",
        "route.sluice.dev/users created",
        "service.sluice.dev/users condition met",
        "route.sluice.dev/users condition met",
        answer,
        answer,
      ],
    },
    {
      title: "A form request to the admin API, which writes a custom resource:",
      commands: [
        `curl -s http://${chosen.admin}/services/users/routes -d name=people -d 'paths[]=/people' \\`,
        "  -o /dev/null -w '%{http_code}\\n'",
        ...curlLines(chosen.proxy, { path: "/people" }),
        "kubectl get gwroute -o custom-columns=NAME:.spec.name,PATHS:.spec.paths | grep people",
      ],
      output: ["201", answer, "people   [/people]"],
    },
    {
      title: "An edit of a resource, which takes effect on the next request:",
      commands: [
        `sed 's/minute: 60/minute: 30/' ${samples}/rate-limiting.yaml | kubectl apply -f -`,
        `${wait} gwplugin/users-rate-limiting`,
        ...curlLines(chosen.proxy, { options: "-o /dev/null -D - | grep ^RateLimit-Limit" }),
      ],
      output: [
        "plugin.sluice.dev/users-rate-limiting configured",
        "plugin.sluice.dev/users-rate-limiting condition met",
        "RateLimit-Limit: 30",
      ],
    },
  ];
}

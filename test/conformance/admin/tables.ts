/** All tables, in the order in which they are asked. */
import type { Table } from "./row.ts";
import { bodies } from "./rows/bodies.ts";
import { changing } from "./rows/changing.ts";
import { conditions } from "./rows/conditions.ts";
import { creating } from "./rows/creating.ts";
import { foreign } from "./rows/foreign.ts";
import { reading } from "./rows/reading.ts";
import { refusals } from "./rows/refusals.ts";
import { removing } from "./rows/removing.ts";
import { replacing } from "./rows/replacing.ts";
import { tags } from "./rows/tags.ts";

export const tables: readonly Table[] = [
  reading,
  creating,
  replacing,
  changing,
  removing,
  foreign,
  conditions,
  tags,
  refusals,
  bodies,
];

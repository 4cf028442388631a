/**
 * The file that `pulumi --policy-pack` starts. Pulumi uses ts-node to compile a pack whose first file is TypeScript,
 * whatever PulumiPolicy.yaml says, and our imports do not work with ts-node. From here on Node strips the types itself.
 */
import "./pack.ts";

/**
 * The file that `pulumi --policy-pack` starts. Pulumi has ts-node compile a pack whose first file is TypeScript,
 * whatever PulumiPolicy.yaml says, and our imports are not for ts-node. From here on Node strips the types itself.
 */
import "./pack.ts";

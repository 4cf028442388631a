/** Types that convert members of a spec to members of a component's arguments. */
import type { Input } from "@pulumi/pulumi";

type Plain = string | number | boolean | null | undefined;

/** A value in which every part, at every depth, may be an output. */
export type InputsOf<Value> = Input<Parts<Value>>;

type Parts<Value> = Value extends Plain
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly InputsOf<Item>[]
    : MembersOf<Value>;

/** Like InputsOf, for a record that is not an output itself. */
export type MembersOf<Value> = { readonly [Name in keyof Value]: InputsOf<Value[Name]> };

/** A record in which every member, at every depth, is optional, because it has a default. Lists stay complete. */
export type DeepOptional<Value> = Value extends Plain | readonly unknown[]
  ? Value
  : { readonly [Name in keyof Value]?: DeepOptional<Value[Name]> };

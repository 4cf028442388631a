/** How members of a spec become members of a component's arguments. */
import type { Input } from "@pulumi/pulumi";

type Plain = string | number | boolean | null | undefined;

/** A value of which every part, at every depth, may be an output that is not known yet. */
export type InputsOf<Value> = Input<Parts<Value>>;

type Parts<Value> = Value extends Plain
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly InputsOf<Item>[]
    : MembersOf<Value>;

/** The same, for a record that itself is at hand. */
export type MembersOf<Value> = { readonly [Name in keyof Value]: InputsOf<Value[Name]> };

/** A record in which every member, at every depth, may be left out: the model fills it. Lists stay whole. */
export type Unfilled<Value> = Value extends Plain | readonly unknown[]
  ? Value
  : { readonly [Name in keyof Value]?: Unfilled<Value[Name]> };

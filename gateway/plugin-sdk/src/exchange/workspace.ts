/** The only workspace. Its id is that of Kong's workspace `default` without a database. */
export const workspace = { id: "0dc6f45b-8f8d-40d2-a504-473544ee190b", name: "default" } as const;

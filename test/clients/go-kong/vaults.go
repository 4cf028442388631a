package main

import "github.com/kong/go-kong/kong"

func (r *run) vaults() {
	s := r.client.Vaults
	steps(r, crud[kong.Vault]{
		what: "vaults",
		fresh: func(index int, tags []*string) *kong.Vault {
			return &kong.Vault{
				Name:        kong.String("env"),
				Prefix:      numbered("vault", index),
				Description: kong.String("variables of the nodes"),
				Config:      kong.Configuration{"prefix": "SHOP_"},
				Tags:        tags,
			}
		},
		id:     func(e *kong.Vault) **string { return &e.ID },
		key:    func(e *kong.Vault) *string { return e.Prefix },
		tags:   func(e *kong.Vault) []*string { return e.Tags },
		create: func(e *kong.Vault) (*kong.Vault, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Vault, error) { return s.Get(r.ctx, key) },
		list:   func(opt *kong.ListOpt) ([]*kong.Vault, *kong.ListOpt, error) { return s.List(r.ctx, opt) },
		update: func(e *kong.Vault) (*kong.Vault, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Vault) { e.Description = kong.String("changed") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
		// Two responses may differ in the time of the last change.
		ignore: func(e *kong.Vault) { e.UpdatedAt = nil },
	})
}

package main

import (
	"fmt"

	"github.com/kong/go-kong/kong"
)

func (r *run) consumers() {
	s := r.client.Consumers
	steps(r, crud[kong.Consumer]{
		what: "consumers",
		fresh: func(index int, tags []*string) *kong.Consumer {
			return &kong.Consumer{Username: named(index), CustomID: kong.String(fmt.Sprintf("custom/%d", index)), Tags: tags}
		},
		id:     func(e *kong.Consumer) **string { return &e.ID },
		key:    func(e *kong.Consumer) *string { return e.Username },
		tags:   func(e *kong.Consumer) []*string { return e.Tags },
		create: func(e *kong.Consumer) (*kong.Consumer, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Consumer, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Consumer, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Consumer) (*kong.Consumer, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Consumer) { e.CustomID = kong.String("changed") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
	})
	r.step("consumers: get by custom id", func() error {
		made, err := s.Create(r.ctx, &kong.Consumer{CustomID: kong.String("only custom")})
		if err != nil {
			return err
		}
		found, err := s.GetByCustomID(r.ctx, kong.String("only custom"))
		if err != nil {
			return err
		}
		_, absent := s.GetByCustomID(r.ctx, kong.String("nobody"))
		return all(
			same("consumer", found, made),
			holds("an unknown custom id not to be found", absent != nil),
			s.Delete(r.ctx, made.ID),
		)
	})
}

func (r *run) keyAuths() {
	var consumer *kong.Consumer
	r.step("key-auths: create a consumer for the following steps", func() (err error) {
		consumer, err = r.client.Consumers.Create(r.ctx, &kong.Consumer{Username: named(1)})
		return err
	})
	s := r.client.KeyAuths
	steps(r, crud[kong.KeyAuth]{
		what: "key-auths",
		fresh: func(index int, tags []*string) *kong.KeyAuth {
			return &kong.KeyAuth{Key: kong.String(fmt.Sprintf("Key_%d.~", index)), Tags: tags}
		},
		id:     func(e *kong.KeyAuth) **string { return &e.ID },
		key:    func(e *kong.KeyAuth) *string { return e.Key },
		tags:   func(e *kong.KeyAuth) []*string { return e.Tags },
		create: func(e *kong.KeyAuth) (*kong.KeyAuth, error) { return s.Create(r.ctx, consumer.ID, e) },
		get:    func(key *string) (*kong.KeyAuth, error) { return s.Get(r.ctx, consumer.Username, key) },
		list: func(opt *kong.ListOpt) ([]*kong.KeyAuth, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.KeyAuth) (*kong.KeyAuth, error) { return s.Update(r.ctx, consumer.ID, e) },
		change: func(e *kong.KeyAuth) { e.Key, e.Tags = kong.String("changed"), kong.StringSlice("changed") },
		remove: func(key *string) error { return s.Delete(r.ctx, consumer.ID, key) },
		nested: true,
	})
	r.step("key-auths: list by a tag", func() error {
		made, err := s.Create(r.ctx, consumer.ID, &kong.KeyAuth{Tags: kong.StringSlice("tagged")})
		if err != nil {
			return err
		}
		found, _, err := s.List(r.ctx, &kong.ListOpt{Tags: kong.StringSlice("tagged")})
		if err != nil {
			return err
		}
		none, _, err := s.List(r.ctx, &kong.ListOpt{Tags: kong.StringSlice("none")})
		if err != nil {
			return err
		}
		return all(same("found", found, []*kong.KeyAuth{made}), same("none", len(none), 0))
	})
	r.step("key-auths: an omitted key is generated", func() error {
		made, err := s.Create(r.ctx, consumer.Username, &kong.KeyAuth{})
		if err != nil {
			return err
		}
		found, err := s.GetByID(r.ctx, made.ID)
		if err != nil {
			return err
		}
		return all(holds("a key of 32 characters", len(*made.Key) == 32), same("credential", found, made))
	})
	r.step("key-auths: list those of one consumer, and those of all consumers", func() error {
		ofOne, next, err := s.ListForConsumer(r.ctx, consumer.Username, nil)
		if err != nil {
			return err
		}
		ofAll, err := s.ListAll(r.ctx)
		if err != nil {
			return err
		}
		return all(holds("no further page", next == nil), same("number", []int{len(ofOne), len(ofAll)}, []int{2, 2}))
	})
	r.step("key-auths: are deleted with their consumer", func() error {
		if err := r.client.Consumers.Delete(r.ctx, consumer.ID); err != nil {
			return err
		}
		left, err := s.ListAll(r.ctx)
		return all(err, same("left", len(left), 0))
	})
}

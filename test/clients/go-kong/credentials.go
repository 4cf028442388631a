package main

import (
	"context"
	"fmt"

	"github.com/kong/go-kong/kong"
)

// credentialService has the methods that go-kong offers for every kind of credential.
type credentialService[T any] interface {
	Create(ctx context.Context, consumer *string, credential *T) (*T, error)
	Get(ctx context.Context, consumer, keyOrID *string) (*T, error)
	Update(ctx context.Context, consumer *string, credential *T) (*T, error)
	Delete(ctx context.Context, consumer, keyOrID *string) error
	List(ctx context.Context, opt *kong.ListOpt) ([]*T, *kong.ListOpt, error)
	ListAll(ctx context.Context) ([]*T, error)
}

// credentialSteps runs all operations of the kind below a consumer, which it creates and deletes.
func credentialSteps[T any](r *run, s credentialService[T], c crud[T]) {
	var consumer *kong.Consumer
	r.step(c.what+": create a consumer for the following steps", func() (err error) {
		consumer, err = r.client.Consumers.Create(r.ctx, &kong.Consumer{Username: named(1)})
		return err
	})
	c.nested = true
	c.create = func(e *T) (*T, error) { return s.Create(r.ctx, consumer.ID, e) }
	c.get = func(key *string) (*T, error) { return s.Get(r.ctx, consumer.Username, key) }
	c.update = func(e *T) (*T, error) { return s.Update(r.ctx, consumer.ID, e) }
	c.remove = func(key *string) error { return s.Delete(r.ctx, consumer.ID, key) }
	c.list = func(opt *kong.ListOpt) ([]*T, *kong.ListOpt, error) { return s.List(r.ctx, opt) }
	steps(r, c)
	r.step(c.what+": are deleted with their consumer", func() error {
		if _, err := s.Create(r.ctx, consumer.ID, c.fresh(3, nil)); err != nil {
			return err
		}
		if err := r.client.Consumers.Delete(r.ctx, consumer.ID); err != nil {
			return err
		}
		left, err := s.ListAll(r.ctx)
		return all(err, same("left", len(left), 0))
	})
}

func numbered(what string, index int) *string { return kong.String(fmt.Sprintf("%s-%d", what, index)) }

func (r *run) basicAuths() {
	credentialSteps(r, r.client.BasicAuths, crud[kong.BasicAuth]{
		what: "basic-auths",
		fresh: func(index int, tags []*string) *kong.BasicAuth {
			return &kong.BasicAuth{Username: numbered("user", index), Password: kong.String("s3cret"), Tags: tags}
		},
		id:     func(e *kong.BasicAuth) **string { return &e.ID },
		key:    func(e *kong.BasicAuth) *string { return e.Username },
		tags:   func(e *kong.BasicAuth) []*string { return e.Tags },
		change: func(e *kong.BasicAuth) { e.Username = kong.String("changed") },
		// Responses have the hash of the password, with a new salt after each write of the password.
		ignore: func(e *kong.BasicAuth) { e.Password = nil },
	})
}

func (r *run) hmacAuths() {
	credentialSteps(r, r.client.HMACAuths, crud[kong.HMACAuth]{
		what: "hmac-auths",
		fresh: func(index int, tags []*string) *kong.HMACAuth {
			return &kong.HMACAuth{Username: numbered("user", index), Secret: kong.String("s3cret"), Tags: tags}
		},
		id:     func(e *kong.HMACAuth) **string { return &e.ID },
		key:    func(e *kong.HMACAuth) *string { return e.Username },
		tags:   func(e *kong.HMACAuth) []*string { return e.Tags },
		change: func(e *kong.HMACAuth) { e.Secret = kong.String("changed") },
	})
}

func (r *run) jwtAuths() {
	credentialSteps(r, r.client.JWTAuths, crud[kong.JWTAuth]{
		what: "jwts",
		fresh: func(index int, tags []*string) *kong.JWTAuth {
			return &kong.JWTAuth{Key: numbered("issuer", index), Secret: kong.String("s3cret"), Tags: tags}
		},
		id:     func(e *kong.JWTAuth) **string { return &e.ID },
		key:    func(e *kong.JWTAuth) *string { return e.Key },
		tags:   func(e *kong.JWTAuth) []*string { return e.Tags },
		change: func(e *kong.JWTAuth) { e.Algorithm = kong.String("HS512") },
	})
}

func (r *run) acls() {
	credentialSteps(r, r.client.ACLs, crud[kong.ACLGroup]{
		what: "acls",
		fresh: func(index int, tags []*string) *kong.ACLGroup {
			return &kong.ACLGroup{Group: numbered("group", index), Tags: tags}
		},
		id:     func(e *kong.ACLGroup) **string { return &e.ID },
		key:    func(e *kong.ACLGroup) *string { return e.Group },
		tags:   func(e *kong.ACLGroup) []*string { return e.Tags },
		change: func(e *kong.ACLGroup) { e.Group = kong.String("changed") },
	})
}

func (r *run) consumerGroups() {
	s := r.client.ConsumerGroups
	steps(r, crud[kong.ConsumerGroup]{
		what: "consumer groups",
		fresh: func(index int, tags []*string) *kong.ConsumerGroup {
			return &kong.ConsumerGroup{Name: numbered("tier", index), Tags: tags}
		},
		id:     func(e *kong.ConsumerGroup) **string { return &e.ID },
		key:    func(e *kong.ConsumerGroup) *string { return e.Name },
		tags:   func(e *kong.ConsumerGroup) []*string { return e.Tags },
		create: func(e *kong.ConsumerGroup) (*kong.ConsumerGroup, error) { return s.Create(r.ctx, e) },
		get: func(key *string) (*kong.ConsumerGroup, error) {
			found, err := s.Get(r.ctx, key)
			if err != nil {
				return nil, err
			}
			return found.ConsumerGroup, nil
		},
		list: func(opt *kong.ListOpt) ([]*kong.ConsumerGroup, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.ConsumerGroup) (*kong.ConsumerGroup, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.ConsumerGroup) { e.Name = kong.String("changed") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
	})
	r.step("consumer groups: gain and lose a consumer", func() error {
		group, err := s.Create(r.ctx, &kong.ConsumerGroup{Name: kong.String("members")})
		if err != nil {
			return err
		}
		consumer, err := r.client.Consumers.Create(r.ctx, &kong.Consumer{Username: named(1)})
		if err != nil {
			return err
		}
		members := r.client.ConsumerGroupConsumers
		if _, err := members.Create(r.ctx, group.Name, consumer.Username); err != nil {
			return err
		}
		found, err := members.ListAll(r.ctx, group.Name)
		if err != nil {
			return err
		}
		if err := members.Delete(r.ctx, group.ID, consumer.ID); err != nil {
			return err
		}
		left, err := members.ListAll(r.ctx, group.ID)
		return all(
			err,
			same("members", len(found), 1),
			same("left", len(left), 0),
			r.client.Consumers.Delete(r.ctx, consumer.ID),
			s.Delete(r.ctx, group.ID),
		)
	})
}

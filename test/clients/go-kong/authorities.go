package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"github.com/kong/go-kong/kong"
)

// authority returns the certificate of a new certificate authority in PEM.
func authority(name string) *string {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-24 * time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	check(err)
	return encoded("CERTIFICATE", der)
}

func (r *run) caCertificates() {
	authorities := map[int]*string{}
	for index := range 4 {
		authorities[index] = authority(fmt.Sprintf("authority %d", index))
	}
	s := r.client.CACertificates
	steps(r, crud[kong.CACertificate]{
		what: "ca certificates",
		fresh: func(index int, tags []*string) *kong.CACertificate {
			return &kong.CACertificate{Cert: authorities[index], Tags: tags}
		},
		id:     func(e *kong.CACertificate) **string { return &e.ID },
		key:    func(e *kong.CACertificate) *string { return e.ID },
		tags:   func(e *kong.CACertificate) []*string { return e.Tags },
		create: func(e *kong.CACertificate) (*kong.CACertificate, error) { return s.Create(r.ctx, e) },
		get:    func(id *string) (*kong.CACertificate, error) { return s.Get(r.ctx, id) },
		list: func(opt *kong.ListOpt) ([]*kong.CACertificate, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.CACertificate) (*kong.CACertificate, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.CACertificate) { e.Tags = kong.StringSlice("changed") },
		remove: func(id *string) error { return s.Delete(r.ctx, id) },
	})
}

func (r *run) mtlsAuths() {
	credentialSteps(r, r.client.MTLSAuths, crud[kong.MTLSAuth]{
		what: "mtls-auths",
		fresh: func(index int, tags []*string) *kong.MTLSAuth {
			return &kong.MTLSAuth{SubjectName: numbered("subject", index), Tags: tags}
		},
		id:     func(e *kong.MTLSAuth) **string { return &e.ID },
		key:    func(e *kong.MTLSAuth) *string { return e.ID },
		tags:   func(e *kong.MTLSAuth) []*string { return e.Tags },
		change: func(e *kong.MTLSAuth) { e.SubjectName = kong.String("changed") },
	})
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/kong/go-kong/kong"
)

// selfSigned returns a certificate and its key in PEM, which Kong's admin API accepts.
func selfSigned(name string) (certificate, key *string) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-24 * time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	check(err)
	return encoded("CERTIFICATE", der), encoded("PRIVATE KEY", secret)
}

func encoded(kind string, der []byte) *string {
	return kong.String(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (r *run) certificates() {
	s := r.client.Certificates
	pairs := map[int]kong.Certificate{}
	for index := range 4 {
		cert, key := selfSigned(sniName(index))
		pairs[index] = kong.Certificate{Cert: cert, Key: key}
	}
	fresh := func(index int, tags []*string) *kong.Certificate {
		certificate := pairs[index]
		certificate.SNIs, certificate.Tags = kong.StringSlice(sniName(index)), tags
		return &certificate
	}
	steps(r, crud[kong.Certificate]{
		what:  "certificates",
		fresh: fresh,
		id:    func(e *kong.Certificate) **string { return &e.ID },
		// Certificates have no names: a certificate is found by one of its SNIs.
		key:    func(e *kong.Certificate) *string { return e.SNIs[0] },
		tags:   func(e *kong.Certificate) []*string { return e.Tags },
		create: func(e *kong.Certificate) (*kong.Certificate, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.Certificate, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.Certificate, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.Certificate) (*kong.Certificate, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.Certificate) { e.Cert, e.Key = pairs[3].Cert, pairs[3].Key },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
		// Kong answers 400 to a second certificate with the same SNI, see the step below.
		repeatable: true,
	})
	r.step("certificates: an SNI of another certificate is refused", func() error {
		if _, err := s.Create(r.ctx, fresh(1, nil)); err != nil {
			return err
		}
		_, err := s.Create(r.ctx, fresh(1, nil))
		return all(hasStatus(err, http.StatusBadRequest), s.Delete(r.ctx, kong.String(sniName(1))))
	})
	r.step("certificates: the key of another certificate is refused", func() error {
		mixed := fresh(1, nil)
		mixed.Key = pairs[2].Key
		_, err := s.Create(r.ctx, mixed)
		return hasStatus(err, http.StatusBadRequest)
	})
	r.snis(fresh)
}

func (r *run) snis(fresh func(int, []*string) *kong.Certificate) {
	var certificate *kong.Certificate
	r.step("snis: create a certificate for the following steps", func() (err error) {
		sent := fresh(1, nil)
		sent.SNIs = nil
		certificate, err = r.client.Certificates.Create(r.ctx, sent)
		return err
	})
	s := r.client.SNIs
	steps(r, crud[kong.SNI]{
		what: "snis",
		fresh: func(index int, tags []*string) *kong.SNI {
			return &kong.SNI{
				Name: kong.String(sniName(index)), Certificate: &kong.Certificate{ID: certificate.ID}, Tags: tags,
			}
		},
		id:     func(e *kong.SNI) **string { return &e.ID },
		key:    func(e *kong.SNI) *string { return e.Name },
		tags:   func(e *kong.SNI) []*string { return e.Tags },
		create: func(e *kong.SNI) (*kong.SNI, error) { return s.Create(r.ctx, e) },
		get:    func(key *string) (*kong.SNI, error) { return s.Get(r.ctx, key) },
		list: func(opt *kong.ListOpt) ([]*kong.SNI, *kong.ListOpt, error) {
			return s.List(r.ctx, opt)
		},
		update: func(e *kong.SNI) (*kong.SNI, error) { return s.Update(r.ctx, e) },
		change: func(e *kong.SNI) { e.Name = kong.String("*.changed.test") },
		remove: func(key *string) error { return s.Delete(r.ctx, key) },
	})
	r.step("snis: list those of a certificate, and the certificate contains their names", func() error {
		made, err := s.Create(r.ctx, &kong.SNI{
			Name: kong.String(sniName(1)), Certificate: &kong.Certificate{ID: certificate.ID},
		})
		if err != nil {
			return err
		}
		found, _, err := s.ListForCertificate(r.ctx, certificate.ID, nil)
		if err != nil {
			return err
		}
		parent, err := r.client.Certificates.Get(r.ctx, made.Name)
		if err != nil {
			return err
		}
		return all(
			same("of the certificate", found, []*kong.SNI{made}),
			same("id", parent.ID, certificate.ID),
			same("names", parent.SNIs, []*string{made.Name}),
		)
	})
	r.step("snis: are deleted with their certificate", func() error {
		if err := r.client.Certificates.Delete(r.ctx, certificate.ID); err != nil {
			return err
		}
		left, err := s.ListAll(r.ctx)
		return all(err, same("left", len(left), 0))
	})
}

func sniName(index int) string {
	return fmt.Sprintf("sni-%d.test", index)
}

// Command tls-client performs TLS handshakes at full speed:
//
//	tls-client ADDRESS new|resumed CONCURRENCY DURATION
//
// It prints the number of handshakes, microseconds, failures, and the median and the 99th percentile of a handshake's
// microseconds. Each connection ends after its handshake. "resumed" fails if the server does not resume the session.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The certificate is not verified, because its authority exists only during the bench; its signature is.
func config(cache tls.ClientSessionCache) *tls.Config {
	return &tls.Config{
		ServerName:         "localhost",
		InsecureSkipVerify: true,
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519},
		ClientSessionCache: cache,
	}
}

// The ticket of a session arrives after the handshake, before the first response.
func obtainTicket(address string, config *tls.Config) error {
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /api/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}

func handshake(address string, config *tls.Config, resumed bool) error {
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.ConnectionState().DidResume != resumed {
		return fmt.Errorf("resumed: %t", !resumed)
	}
	return nil
}

func main() {
	address, resumed := os.Args[1], os.Args[2] == "resumed"
	workers, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	duration, err := time.ParseDuration(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	configs := make([]*tls.Config, workers)
	for at := range configs {
		configs[at] = config(nil)
		if !resumed {
			continue
		}
		configs[at] = config(tls.NewLRUClientSessionCache(1))
		if err := obtainTicket(address, configs[at]); err != nil {
			log.Fatal(err)
		}
	}
	var mutex sync.Mutex
	var took []time.Duration
	failures := 0
	began := time.Now()
	var group sync.WaitGroup
	for _, config := range configs {
		group.Go(func() {
			for time.Since(began) < duration {
				from := time.Now()
				err := handshake(address, config, resumed)
				mutex.Lock()
				took = append(took, time.Since(from))
				if err != nil {
					failures++
					log.Print(err)
				}
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	lasted := time.Since(began)
	slices.Sort(took)
	percentile := func(share float64) int64 { return took[int(float64(len(took)-1)*share)].Microseconds() }
	fmt.Printf("RESULT %d %d %d %d %d\n", len(took), lasted.Microseconds(), failures, percentile(0.5), percentile(0.99))
}

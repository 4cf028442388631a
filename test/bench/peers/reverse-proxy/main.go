// Command reverse-proxy runs Go's httputil.ReverseProxy without additions; most gateways in Go are built on it. The
// command listens on the address in the first argument and forwards /api/x to /x at the address in the second.
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
)

type buffers struct{ sync.Pool }

func (pool *buffers) Get() []byte       { return pool.Pool.Get().([]byte) }
func (pool *buffers) Put(buffer []byte) { pool.Pool.Put(buffer) }

func main() {
	upstream, err := url.Parse(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.Out.URL.Path = strings.TrimPrefix(request.In.URL.Path, "/api")
			request.SetURL(upstream)
			request.SetXForwarded()
		},
		Transport:  &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
		BufferPool: &buffers{sync.Pool{New: func() any { return make([]byte, 32*1024) }}},
	}
	log.Fatal(http.ListenAndServe(os.Args[1], proxy))
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An https proxy. Each request waits for `delay` before it is handed on, each connection carries `bps` bytes per second in
// either direction; both are set while it runs.
//
//	tools proxy -listen 127.0.0.1:9443 -admin 127.0.0.1:9444 -to http://127.0.0.1:8333
//
// Admin: /stats (lines of a name and a number), /set?delay=20ms&bps=94371840.
type shaping struct {
	delay, bps, inFlight atomic.Int64
	mu                   sync.Mutex
	stats                map[string]int64
}

func (s *shaping) count(name string, by int64) {
	s.mu.Lock()
	s.stats[name] += by
	s.mu.Unlock()
}

// paced is a body that comes no faster than it may.
type paced struct {
	io.ReadCloser
	shaping *shaping
	name    string
	started time.Time
	bytes   int64
}

func (p *paced) Read(into []byte) (int, error) {
	n, err := p.ReadCloser.Read(into[:min(len(into), 64<<10)])
	p.bytes += int64(n)
	if bps := p.shaping.bps.Load(); bps > 0 {
		due := time.Duration(float64(p.bytes) / float64(bps) * 1e9)
		if wait := due - time.Since(p.started); wait > time.Millisecond {
			time.Sleep(wait)
		}
	}
	if err != nil {
		p.shaping.count(p.name, p.bytes)
		p.bytes = 0
	}
	return n, err
}

func (p *paced) Close() error {
	p.shaping.count(p.name, p.bytes)
	p.bytes = 0
	return p.ReadCloser.Close()
}

func kind(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case r.Method == "POST" && query.Has("uploads"):
		return "CREATE_UPLOAD"
	case r.Method == "POST" && query.Has("uploadId"):
		return "COMPLETE_UPLOAD"
	case r.Method == "PUT" && query.Has("uploadId"):
		return "PART"
	case r.Method == "DELETE" && query.Has("uploadId"):
		return "ABORT_UPLOAD"
	case r.Method == "GET" && query.Has("list-type"):
		return "LIST"
	}
	return r.Method
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return b.pool.Get().([]byte) }
func (b *buffers) Put(x []byte) { b.pool.Put(x) } //nolint:staticcheck // what httputil asks for

func (s *shaping) handler(to *url.URL) http.Handler {
	forward := &httputil.ReverseProxy{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true, WriteBufferSize: 1 << 17, ReadBufferSize: 1 << 17},
		FlushInterval: -1,
		BufferPool:    &buffers{sync.Pool{New: func() any { return make([]byte, 1<<17) }}},
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host
			p.Out.Host = p.In.Host // it is signed
			p.Out.Header.Del("Expect")
		},
		ModifyResponse: func(r *http.Response) error {
			s.count(fmt.Sprintf("status_%d", r.StatusCode), 1)
			r.Body = &paced{ReadCloser: r.Body, shaping: s, name: "bytes_down", started: time.Now()}
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count("req_"+kind(r), 1)
		s.count("requests", 1)
		now := s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		s.mu.Lock()
		s.stats["in_flight_max"] = max(s.stats["in_flight_max"], now)
		s.mu.Unlock()
		time.Sleep(time.Duration(s.delay.Load()))
		r.Body = &paced{ReadCloser: r.Body, shaping: s, name: "bytes_up", started: time.Now()}
		forward.ServeHTTP(w, r)
	})
}

func (s *shaping) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/stats", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var lines []string
		for name, number := range s.stats {
			lines = append(lines, fmt.Sprintf("%s %d\n", name, number))
		}
		sort.Strings(lines)
		io.WriteString(w, strings.Join(lines, ""))
		s.stats["in_flight_max"] = 0
	})
	mux.HandleFunc("/set", func(w http.ResponseWriter, r *http.Request) {
		delay, wrongDelay := time.ParseDuration(r.URL.Query().Get("delay"))
		bps, wrongBps := strconv.ParseInt(r.URL.Query().Get("bps"), 10, 64)
		if wrongDelay != nil || wrongBps != nil {
			http.Error(w, "delay=20ms&bps=94371840", http.StatusBadRequest)
			return
		}
		s.delay.Store(int64(delay))
		s.bps.Store(bps)
	})
	return mux
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func proxy(arguments []string) {
	flags := flag.NewFlagSet("proxy", flag.ExitOnError)
	listen := flags.String("listen", "", "where clients come, by https")
	admin := flags.String("admin", "", "where it is steered")
	target := flags.String("to", "", "the server behind it")
	flags.Parse(arguments)
	to, err := url.Parse(*target)
	if err != nil {
		log.Fatal(err)
	}
	s := &shaping{stats: map[string]int64{"requests": 0}}
	go func() { log.Fatal(http.ListenAndServe(*admin, s.admin())) }()
	server := &http.Server{
		Addr: *listen, Handler: s.handler(to), ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}},
		// HTTP/1.1 only, as S3 has it.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.count("connections", 1)
			}
		},
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}

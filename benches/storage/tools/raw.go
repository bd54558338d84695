package main

import (
	"bytes"
	"crypto/tls"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The least that a client must do: bytes of files into requests and out of answers, nothing hashed, nothing checked.
//
//	tools raw LABEL ENDPOINT/BUCKET put WORKERS PART-BYTES FILE…       one file after the other, its parts at once
//	tools raw LABEL ENDPOINT/BUCKET get WORKERS RANGE-BYTES FILE…      what `put` has put, in ranges, in order
//	tools raw LABEL ENDPOINT/BUCKET rand READS RANGE-BYTES FILE…       ranges anywhere, one after the other
//
// The login is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Prints a line of JSON.
type client struct {
	http   *http.Client
	bucket string
	login  login
}

func (c *client) do(method, key, query string, header map[string]string, body io.Reader, length int64) *http.Response {
	request, err := http.NewRequest(method, c.bucket+"/"+key+query, body)
	if err != nil {
		log.Fatal(err)
	}
	request.ContentLength = length
	for name, value := range header {
		request.Header.Set(name, value)
	}
	c.login.sign(request, time.Now().UTC())
	answer, err := c.http.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	if answer.StatusCode/100 != 2 {
		why, _ := io.ReadAll(answer.Body)
		log.Fatalf("%s %s: %s\n%s", method, key, answer.Status, why)
	}
	return answer
}

func finish(answer *http.Response) []byte {
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	return all
}

// span is a part of a file.
type span struct {
	number        int
	start, length int64
}

func spans(size, each int64) []span {
	var all []span
	for at := int64(0); at < size; at += each {
		all = append(all, span{len(all) + 1, at, min(each, size-at)})
	}
	return all
}

func together(workers int, all []span, work func(span)) {
	queue := make(chan span)
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for one := range queue {
				work(one)
			}
		}()
	}
	for _, one := range all {
		queue <- one
	}
	close(queue)
	group.Wait()
}

func (c *client) put(key, path string, workers int, partBytes int64) int64 {
	file, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	parts := spans(sizeOf(path), partBytes)
	var begun struct{ UploadId string }
	if err := xml.Unmarshal(finish(c.do("POST", key, "?uploads=", nil, nil, 0)), &begun); err != nil {
		log.Fatal(err)
	}
	tags := make([]string, len(parts)+1)
	together(workers, parts, func(part span) {
		query := fmt.Sprintf("?partNumber=%d&uploadId=%s", part.number, begun.UploadId)
		answer := c.do("PUT", key, query, nil, io.NewSectionReader(file, part.start, part.length), part.length)
		finish(answer)
		tags[part.number] = answer.Header.Get("ETag")
	})
	var list bytes.Buffer
	list.WriteString("<CompleteMultipartUpload>")
	for number, tag := range tags[1:] {
		fmt.Fprintf(&list, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", number+1, tag)
	}
	list.WriteString("</CompleteMultipartUpload>")
	finish(c.do("POST", key, "?uploadId="+begun.UploadId, nil, &list, int64(list.Len())))
	return sizeOf(path)
}

func (c *client) get(key string, part span, buffer []byte) {
	answer := c.do("GET", key, "", map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", part.start, part.start+part.length-1)}, nil, 0)
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, buffer)
	if err != nil || n != part.length {
		log.Fatalf("GET %s: %d of %d bytes: %v", key, n, part.length, err)
	}
	answer.Body.Close()
}

func sizeOf(path string) int64 {
	found, err := os.Stat(path)
	if err != nil {
		log.Fatal(err)
	}
	return found.Size()
}

func raw(arguments []string) {
	if len(arguments) < 6 {
		log.Fatal("tools raw LABEL ENDPOINT/BUCKET put|get|rand COUNT BYTES FILE…")
	}
	label, mode, files := arguments[0], arguments[2], arguments[5:]
	count, _ := strconv.Atoi(arguments[3])
	each, _ := strconv.ParseInt(arguments[4], 10, 64)
	c := &client{
		bucket: arguments[1],
		login:  login{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")},
		http: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: 256, WriteBufferSize: 1 << 18, ReadBufferSize: 1 << 18, DisableCompression: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the proxy's own certificate
			TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{},
		}},
	}
	var total int64
	var took []time.Duration
	var mu sync.Mutex
	timed := func(key string, part span, buffer []byte) {
		start := time.Now()
		c.get(key, part, buffer)
		mu.Lock()
		took = append(took, time.Since(start))
		total += part.length
		mu.Unlock()
	}
	started := time.Now()
	key := func(number int) string { return fmt.Sprintf("raw/%d", number) }
	switch mode {
	case "put":
		for number, path := range files {
			total += c.put(key(number), path, count, each)
		}
	case "get":
		for number, path := range files {
			together(count, spans(sizeOf(path), each), func(part span) { timed(key(number), part, make([]byte, 1<<18)) })
		}
	case "rand":
		random := rand.New(rand.NewSource(7))
		buffer := make([]byte, 1<<18)
		for range count {
			number := random.Intn(len(files))
			start := random.Int63n(sizeOf(files[number]) - each)
			timed(key(number), span{1, start, each}, buffer)
		}
	}
	tell(label, total, time.Since(started), took)
}

func tell(label string, total int64, wall time.Duration, took []time.Duration) {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	mebibytes := float64(total) / (1 << 20)
	var line strings.Builder
	fmt.Fprintf(&line, `{"scenario":"%s","bytes":%d,"wall_s":%.3f,"cpu_s":%.3f,"mib_s":%.1f,"cpu_s_per_gib":%.3f`,
		label, total, wall.Seconds(), cpu, mebibytes/wall.Seconds(), cpu/mebibytes*1024)
	if len(took) > 0 {
		sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
		milliseconds := func(d time.Duration) float64 { return d.Seconds() * 1000 }
		fmt.Fprintf(&line, `,"p50_ms":%.1f,"p99_ms":%.1f`, milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100]))
	}
	fmt.Println(line.String() + "}")
}

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"
)

// AWS signature version 4 by header, the payload left out of it.
type login struct{ accessKey, secretKey string }

const (
	region  = "us-east-1"
	payload = "UNSIGNED-PAYLOAD"
)

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
	}
	sort.Strings(pairs)
	return strings.ReplaceAll(strings.Join(pairs, "&"), "+", "%20")
}

func (l login) sign(r *http.Request, now time.Time) {
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	r.Header.Set("X-Amz-Date", stamp)
	r.Header.Set("X-Amz-Content-Sha256", payload)
	const signed = "host;x-amz-content-sha256;x-amz-date"
	canonical := strings.Join([]string{
		r.Method, r.URL.EscapedPath(), canonicalQuery(r.URL.Query()),
		"host:" + r.URL.Host, "x-amz-content-sha256:" + payload, "x-amz-date:" + stamp, "", signed, payload,
	}, "\n")
	digest := sha256.Sum256([]byte(canonical))
	scope := day + "/" + region + "/s3/aws4_request"
	key := []byte("AWS4" + l.secretKey)
	for _, step := range []string{day, region, "s3", "aws4_request"} {
		key = mac(key, step)
	}
	signature := mac(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(digest[:]))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+l.accessKey+"/"+scope+
		", SignedHeaders="+signed+", Signature="+hex.EncodeToString(signature))
}

package main

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// A payload holds the texts of the messages that a workload appends.
type payload []string

// newPayload returns texts of size bytes. They hold 6 random bits a byte, so they
// do not compress below 3/4 of their size.
func newPayload(size int) payload {
	var seed [32]byte
	random := rand.NewChaCha8(seed)
	p := make(payload, 256)
	raw := make([]byte, size)
	for i := range p {
		// ChaCha8's Read never fails.
		_, _ = random.Read(raw)
		p[i] = base64.RawURLEncoding.EncodeToString(raw)[:size]
	}
	return p
}

// at returns the i-th text.
func (p payload) at(i int) string { return p[i%len(p)] }

// message returns a new copy of the i-th text, like a node that makes a message.
func (p payload) message(i int) string { return strings.Clone(p.at(i)) }

var (
	text64   = newPayload(64)
	text1024 = newPayload(1024)
)

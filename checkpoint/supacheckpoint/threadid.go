package supacheckpoint

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// ThreadID returns the id of an agent's thread: the agent, "-" and the conversation. For
// an empty conversation it uses a random UUID.
//
// Ids of different agents can be equal, for example of "a" with "b-c" and of "a-b" with
// "c". They differ if all conversations are UUIDs or no agent has a "-".
func ThreadID(agent, conversation string) string {
	if conversation == "" {
		conversation = randomUUID()
	}
	return agent + "-" + conversation
}

// randomUUID returns a random UUID, version 4.
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = 4<<4|b[6]&0xf, 0b10<<6|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ProposalThreadID returns an id for a new thread of a proposal: the component, ten hex
// digits of the proposal's SHA-256 and the time in milliseconds. An empty component
// means "research". The id can be guessed; row-level security protects the thread.
func ProposalThreadID(proposal, component string) string {
	if component == "" {
		component = "research"
	}
	sum := sha256.Sum256([]byte(proposal))
	return fmt.Sprintf("%s_%s_%d", component, hex.EncodeToString(sum[:])[:10], time.Now().UnixMilli())
}

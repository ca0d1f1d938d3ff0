package supacheckpoint

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// ThreadID returns the id of an agent's thread: the agent and the conversation, with
// "-" between. An empty conversation is a new one, which gets a random UUID.
//
// The id does not say where the agent ends: agents "a" and "a-b" may come to the same
// one, unless conversations are UUIDs or agents have no "-".
func ThreadID(agent, conversation string) string {
	if conversation == "" {
		conversation = randomUUID()
	}
	return agent + "-" + conversation
}

// randomUUID returns a UUID of version 4, which nobody can guess.
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = 4<<4|b[6]&0xf, 0b10<<6|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ProposalThreadID returns the id of a new thread about a proposal: the component that
// works on it, ten digits of the proposal's SHA-256, and the time in milliseconds. An
// empty component stands for "research". It can be guessed: what keeps a thread from
// others is whose it is, not its id.
func ProposalThreadID(proposal, component string) string {
	if component == "" {
		component = "research"
	}
	sum := sha256.Sum256([]byte(proposal))
	return fmt.Sprintf("%s_%s_%d", component, hex.EncodeToString(sum[:])[:10], time.Now().UnixMilli())
}

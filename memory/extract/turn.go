package extract

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
)

// A Turn has the words of the user and the answer of the assistant.
type Turn struct {
	// Key identifies the turn within its scope, such as the thread and the checkpoint. A
	// second turn with the same key is ignored.
	Key string `json:"key"`
	// Scope is the scope of the facts. It must have a user, unless Shared is true.
	Scope memory.Scope `json:"scope"`
	// Shared permits a scope without a user. All users of the scope share its facts.
	Shared bool `json:"shared,omitempty"`
	// Conversation and Number name the turn in the facts and in their evidence.
	Conversation string `json:"conversation,omitempty"`
	Number       int64  `json:"number,omitempty"`
	// User has the user's own words, and no words of tools or files: every part of it may
	// become evidence. At most 256 KB of them are kept.
	User string `json:"user"`
	// Assistant is the answer. It is context for the extractor, and never evidence.
	Assistant string `json:"assistant,omitempty"`
	// At is the time of the turn. Zero means now.
	At time.Time `json:"at"`
}

// ErrNoUser means that a scope has no user and is not marked as shared. It wraps
// [memory.ErrInvalid].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#extracterrnouser.
var ErrNoUser = fmt.Errorf("no user in the scope: %w", memory.ErrInvalid)

const (
	maxKey  = 512
	maxSaid = 256 << 10
)

// check completes the turn, and returns an error if it cannot be learned.
func (t *Turn) check() error {
	if t.At.IsZero() {
		t.At = time.Now()
	}
	t.At = t.At.UTC()
	t.User, t.Assistant = clean(t.User), clean(t.Assistant)
	if t.Key == "" || len(t.Key) > maxKey || !utf8.ValidString(t.Key) || strings.ContainsRune(t.Key, 0) {
		return fmt.Errorf("key %.60q must be UTF-8 of 1 to %d bytes: %w", t.Key, maxKey, memory.ErrInvalid)
	}
	if t.Scope.User == "" && !t.Shared {
		return fmt.Errorf("scope %s: %w", t.Scope, ErrNoUser)
	}
	return t.Scope.Validate()
}

// clean returns the part of a text that can be stored.
func clean(text string) string {
	if len(text) > maxSaid {
		text = text[:maxSaid]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

func (t *Turn) job() (Job, error) {
	payload, err := json.Marshal(t)
	return Job{Key: t.Key, Scope: t.Scope, Payload: payload, Said: t.At}, err
}

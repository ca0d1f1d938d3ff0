package extract

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
)

// A Turn is what was said, and between whom.
type Turn struct {
	// Key names the turn for good, such as the thread and the checkpoint. A turn whose
	// key is known in its scope is not learned again.
	Key string `json:"key"`
	// Scope is whose facts they will be. It has a user, unless Shared says that it is meant to
	// have none: that what is learned is known to all who have the scope.
	Scope  memory.Scope `json:"scope"`
	Shared bool         `json:"shared,omitempty"`
	// Conversation and Number say where the turn was, for the facts.
	Conversation string `json:"conversation,omitempty"`
	Number       int64  `json:"number,omitempty"`
	// User is what the user said, and Assistant what was answered. What tools
	// said has no place here.
	User      string `json:"user"`
	Assistant string `json:"assistant,omitempty"`
	// At is when it was said. Zero stands for now.
	At time.Time `json:"at"`
}

// ErrNoUser says that a scope has no user, and that nobody said that it is shared. It is a
// [memory.ErrInvalid].
var ErrNoUser = fmt.Errorf("no user in the scope: %w", memory.ErrInvalid)

const (
	maxKey  = 512
	maxSaid = 256 << 10
)

func (t *Turn) check() error {
	if t.At.IsZero() {
		t.At = time.Now()
	}
	t.At = t.At.UTC()
	t.User, t.Assistant = clean(t.User), clean(t.Assistant)
	if t.Key == "" || len(t.Key) > maxKey || !utf8.ValidString(t.Key) || strings.ContainsRune(t.Key, 0) {
		return fmt.Errorf("key %.60q: %w", t.Key, memory.ErrInvalid)
	}
	if t.Scope.User == "" && !t.Shared {
		return fmt.Errorf("scope %s: %w", t.Scope, ErrNoUser)
	}
	return t.Scope.Validate()
}

// clean returns what can be stored of a text: a turn is not lost for a broken rune.
func clean(text string) string {
	if len(text) > maxSaid {
		text = text[:maxSaid]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// A Proposal is something that an [Extractor] holds to be worth knowing.
type Proposal struct {
	// Kind is taken without regard to case and number; one that there is none of is [memory.Plain].
	Kind    memory.Kind
	Content string
	// Evidence are the user's words that it comes from, as they are.
	Evidence string
	// Importance is between 0 and 1; what is beyond is taken for the nearer of them.
	Importance float64
	// ExpiresAt is when it will no longer matter. Zero means never.
	ExpiresAt time.Time
}

func (t *Turn) job() (Job, error) {
	payload, err := json.Marshal(t)
	return Job{Key: t.Key, Scope: t.Scope, Payload: payload, Said: t.At}, err
}

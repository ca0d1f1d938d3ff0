package supacheckpoint_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func TestThreadID(t *testing.T) {
	t.Parallel()
	if id := supacheckpoint.ThreadID("designer", "c-1"); id != "designer-c-1" {
		t.Errorf("got %q", id)
	}
	form := regexp.MustCompile(`^designer-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := supacheckpoint.ThreadID("designer", "")
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("got %q, again: %t", id, seen[id])
		}
		seen[id] = true
	}
}

func TestProposalThreadID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UnixMilli()
		for component, begins := range map[string]string{"": "research", "writer": "writer"} {
			want := fmt.Sprintf("%s_2c26b46b68_%d", begins, now) // the SHA-256 of "foo"
			if id := supacheckpoint.ProposalThreadID("foo", component); id != want {
				t.Errorf("got %q want %q", id, want)
			}
		}
		time.Sleep(time.Millisecond)
		if id := supacheckpoint.ProposalThreadID("foo", ""); !strings.HasSuffix(id, fmt.Sprint(now+1)) {
			t.Errorf("a millisecond later: got %q", id)
		}
	})
}

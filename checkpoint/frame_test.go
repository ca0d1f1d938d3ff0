package checkpoint_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

var changeFrames = []struct {
	name    string
	changes []checkpoint.Change
	golden  string
}{
	{"nil", nil, "019bbc5e7100"},
	{"empty", []checkpoint.Change{}, "01983f358301"},
	{"nil and empty data", []checkpoint.Change{{Channel: "a"}, {Channel: "b", Kind: 255, Data: []byte{}}}, "018529c1dc03016100000162ff01"},
	{"one", []checkpoint.Change{{Channel: "messages", Kind: 2, Data: []byte(`["hi"]`)}}, "0174e2f85b02086d6573736167657302075b226869225d"},
	{"no name", []checkpoint.Change{{Data: []byte{0}}}, "01af2f163b0200000200"},
	{"unicode and NUL", []checkpoint.Change{{Channel: "é\x00世", Kind: 1, Data: []byte("\x00\xff")}}, "01206ecabc0206c3a900e4b896010300ff"},
	{"long", []checkpoint.Change{{Channel: strings.Repeat("n", 300), Data: bytes.Repeat([]byte("d"), 70000)}}, "-"},
}

var deltaFrames = []struct {
	name   string
	deltas []checkpoint.Delta
	golden string
}{
	{"nil", nil, "01de75330b00"},
	{"empty", []checkpoint.Delta{}, "01ddf658f901"},
	{"plain", []checkpoint.Delta{{ID: "1", Source: checkpoint.Loop, Changes: []checkpoint.Change{{Channel: "a", Data: []byte("1")}}}}, "01dc344e00020131046c6f6f7000020161000231"},
	{"snapshot and nil changes", []checkpoint.Delta{
		{ID: "1", Source: checkpoint.Input, Snapshot: true, Changes: []checkpoint.Change{}},
		{ID: "2", Source: "custom"},
	}, "0169cf63d103013105696e7075740101013206637573746f6d0000"},
}

// The layout of frames does not change, because stores contain such frames. A new layout
// needs a new format number.
func TestFrameFormatIsStable(t *testing.T) {
	t.Parallel()
	for _, tt := range changeFrames {
		if tt.golden != "-" {
			assert.Equal(t, tt.golden, hex.EncodeToString(checkpoint.AppendChanges(nil, tt.changes)), "changes %q", tt.name)
		}
	}
	for _, tt := range deltaFrames {
		assert.Equal(t, tt.golden, hex.EncodeToString(checkpoint.AppendDeltas(nil, tt.deltas)), "deltas %q", tt.name)
	}
}

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	prefix := []byte("prefix")
	for _, tt := range changeFrames {
		b := checkpoint.AppendChanges(bytes.Clone(prefix), tt.changes)
		require.Equal(t, prefix, b[:len(prefix)], "changes %q", tt.name)
		got, err := checkpoint.ParseChanges(b[len(prefix):])
		require.NoError(t, err, "changes %q", tt.name)
		assert.Equal(t, tt.changes, got, "changes %q", tt.name)
	}
	for _, tt := range deltaFrames {
		b := checkpoint.AppendDeltas(bytes.Clone(prefix), tt.deltas)
		require.Equal(t, prefix, b[:len(prefix)], "deltas %q", tt.name)
		got, err := checkpoint.ParseDeltas(b[len(prefix):])
		require.NoError(t, err, "deltas %q", tt.name)
		assert.Equal(t, tt.deltas, got, "deltas %q", tt.name)
	}
}

func TestFrameDetectsDamage(t *testing.T) {
	t.Parallel()
	changes := checkpoint.AppendChanges(nil, changeFrames[3].changes)
	deltas := checkpoint.AppendDeltas(nil, deltaFrames[2].deltas)
	for _, frame := range [][]byte{changes, deltas} {
		for n := range len(frame) {
			wantRefused(t, frame[:n], checkpoint.ErrCorrupt)
		}
		wantRefused(t, append(bytes.Clone(frame), 0), checkpoint.ErrCorrupt)
		for i := range frame {
			for bit := range 8 {
				b := bytes.Clone(frame)
				b[i] ^= 1 << bit
				want := checkpoint.ErrCorrupt
				if i == 0 {
					want = checkpoint.ErrFormat
				}
				wantRefused(t, b, want)
			}
		}
	}
	_, err := checkpoint.ParseChanges(deltas)
	assert.ErrorIs(t, err, checkpoint.ErrCorrupt, "deltas read as changes")
	_, err = checkpoint.ParseDeltas(changes)
	assert.ErrorIs(t, err, checkpoint.ErrCorrupt, "changes read as deltas")
}

func wantRefused(t *testing.T, b []byte, want error) {
	t.Helper()
	_, err := checkpoint.ParseChanges(b)
	assert.ErrorIs(t, err, want, "ParseChanges(%x)", b)
	_, err = checkpoint.ParseDeltas(b)
	assert.ErrorIs(t, err, want, "ParseDeltas(%x)", b)
}
